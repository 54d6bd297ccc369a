// People's statements about races: comments, owners, states. Each is in the race's history with its
// author.
//
//   open ── fixed, stale ── happened again ──► open ("reopened")
//    └──── suppressed, with a reason ── its time is over ──► open
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {

void set_state(Statements& on, const std::string& program, int64_t number, const std::string& from,
               const std::string& to, const Change& change, int64_t until_ms, int64_t now_ms) {
  on.run(
      "UPDATE races SET state=$3, reason=$4, until_ms=$5, closed_version=0 WHERE program=$1 AND "
      "number=$2",
      {program, number, to, change.detail, until_ms});
  Change noted = change;
  noted.open_delta = int64_t{to == "open"} - int64_t{from == "open"};
  noted.detail = to + (change.detail.empty() ? "" : ": " + change.detail);
  note_history(on, program, number, noted, now_ms);
}

void reopen(Statements& on, const std::string& program, int64_t number, const std::string& who,
            const std::string& version, int64_t now_ms) {
  const auto race = on.run("SELECT state, closed_version FROM races WHERE program=$1 AND number=$2",
                           {program, number});
  if (race.empty() || (race[0].text(0) != "fixed" && race[0].text(0) != "stale")) return;
  const int64_t step = version_step(on, program, version);
  if (step != 0 && step < race[0].number(1)) return;
  set_state(on, program, number, race[0].text(0), "open",
            {"state", "it happened again (reopened)", who}, 0, now_ms);
}

Result<bool> Store::edit(const std::string& program, uint64_t number, const Who& who,
                         const api::Edit& edit, int64_t now_ms) {
  Transaction on(*connection_);
  const auto n = static_cast<int64_t>(number & INT64_MAX);
  const auto race =
      on.run("SELECT state, owner FROM races WHERE program=$1 AND number=$2" + on.row_lock(),
             {program, n});
  if (on.failed()) return on.error();
  if (race.empty()) return false;
  if (edit.owner && *edit.owner != race[0].text(1)) {
    on.run("UPDATE races SET owner=$3, owner_by='person' WHERE program=$1 AND number=$2",
           {program, n, *edit.owner});
    note_history(on, program, n, {"owner", *edit.owner, who.credential}, now_ms);
  }
  if (!edit.state.empty() && (edit.state != race[0].text(0) || edit.state == "suppressed")) {
    constexpr double kDay_ms = 24.0 * 3600 * 1000;
    const int64_t until_ms = edit.state == "suppressed" && edit.days > 0
                                 ? now_ms + static_cast<int64_t>(edit.days * kDay_ms)
                                 : 0;
    set_state(on, program, n, race[0].text(0), edit.state, {"state", edit.reason, who.credential},
              until_ms, now_ms);
  }
  if (!edit.comment.empty())
    note_history(on, program, n, {"comment", edit.comment, who.credential}, now_ms);
  note_audit(on, program, who.credential, "edit", "race " + std::to_string(n), now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return true;
}

Status Store::end_suppressions(const std::string& program, int64_t now_ms) {
  constexpr char kDue[] =
      "SELECT number FROM races WHERE program=$1 AND until_ms>0 AND until_ms<=$2 LIMIT 100";
  Statements look(*connection_);
  const bool none = look.run(kDue, {program, now_ms}).empty();
  if (look.failed()) return look.error();
  if (none) return Ok{};
  Transaction on(*connection_);
  for (const Row& row : on.run(kDue + on.row_lock(), {program, now_ms}))
    set_state(on, program, row.number(0), "suppressed", "open",
              {"state", "the suppression ran out", ""}, 0, now_ms);
  return on.commit();
}

}  // namespace deadheat::hive::store
