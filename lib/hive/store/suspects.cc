// Races with known answers, and what they reveal about the credentials that answered.
//
// A control is a candidate whose truth the developers know: a race that they planted in the build,
// or a pair that a lock orders. Its jobs look like any other's and are mixed in permanently.
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {

Result<bool> Store::set_control(const std::string& program, uint64_t number,
                                const std::string& truth, const Who& who, int64_t now_ms) {
  Transaction on(*connection_);
  const auto n = static_cast<int64_t>(number & INT64_MAX);
  const auto done =
      on.run("UPDATE races SET control=$3 WHERE program=$1 AND number=$2 RETURNING number",
             {program, n, truth});
  if (!done.empty()) {
    note_history(on, program, n, {"control", truth, who.credential}, now_ms);
    note_audit(on, program, who.credential, "control", "race " + std::to_string(n) + " " + truth,
               now_ms);
  }
  if (const Status committed = on.commit(); !committed) return committed.error();
  return !done.empty();
}

Result<std::vector<crowd::Suspect>> Store::suspects(const std::string& program) {
  Statements on(*connection_);
  std::vector<crowd::Answers> answers;
  for (const Row& row : on.run(
           "SELECT e.credential, r.number, CASE WHEN r.control='no_race' THEN 0 ELSE 1 END, "
           "sum(CASE WHEN e.outcome='race' THEN 1 ELSE 0 END), "
           "sum(CASE WHEN e.outcome='no_race' THEN 1 ELSE 0 END) FROM races r JOIN evidence e ON "
           "e.program=r.program AND e.number=r.number JOIN tokens t ON t.program=e.program AND "
           "t.id=e.credential WHERE r.program=$1 AND (r.proved=1 OR r.control<>'') AND "
           "t.trusted=0 AND t.revoked_ms=0 AND e.outcome IN ('race','no_race') GROUP BY "
           "e.credential, r.number, r.control",
           {program})) {
    crowd::Answers one;
    one.credential = row.text(0);
    one.race = static_cast<uint64_t>(row.number(1));
    one.is_race = row.number(2) != 0;
    one.races = static_cast<uint32_t>(row.number(3));
    one.no_races = static_cast<uint32_t>(row.number(4));
    answers.push_back(std::move(one));
  }
  if (on.failed()) return on.error();
  return crowd::suspects(answers);
}

}  // namespace deadheat::hive::store
