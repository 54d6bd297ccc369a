// Races that move from one hive to another, with people's comments and states. Evidence arrives as
// the other hive showed it: a claim there is a claim here, and all of it is one voice, the
// importer's.
#include <map>

#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {

Result<int64_t> Store::fleet_size(const std::string& program, int64_t since_ms) {
  Statements on(*connection_);
  const auto rows = on.run("SELECT count(*) FROM instances WHERE program=$1 AND last_ms>=$2",
                           {program, since_ms});
  if (on.failed()) return on.error();
  return rows[0].number(0);
}

Result<int64_t> Store::prune(const std::string& program, int64_t before_ms, int64_t now_ms) {
  // A result that comes once more after its row went finds no job either, and is refused: nothing
  // counts twice. A job was given before it was answered, so that it goes with its answers.
  Transaction on(*connection_);
  std::map<int64_t, int64_t> counts;
  const auto gone = on.run(
      "DELETE FROM evidence WHERE program=$1 AND outcome='not_seen' AND document IS NULL AND "
      "received_ms<$2 RETURNING number",
      {program, before_ms});
  for (const Row& row : gone) ++counts[row.number(0)];
  for (const auto& [number, count] : counts)
    on.run(
        "INSERT INTO rolled_up VALUES($1,$2,'not_seen',$3) ON CONFLICT(program, number, outcome) "
        "DO UPDATE SET count=rolled_up.count+$3",
        {program, number, count});
  const auto jobs =
      on.run("DELETE FROM jobs WHERE program=$1 AND state<>'leased' AND leased_ms<$2 RETURNING 1",
             {program, before_ms});
  note_audit(on, program, "local", "prune",
             std::to_string(gone.size()) + " results, " + std::to_string(jobs.size()) + " jobs",
             now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return static_cast<int64_t>(gone.size() + jobs.size());
}

Result<std::vector<Moved>> Store::moved(const std::string& program) {
  Statements on(*connection_);
  std::vector<Moved> all;
  for (const Row& row :
       on.run("SELECT number, owner FROM races WHERE program=$1 ORDER BY number", {program})) {
    auto one = race(program, static_cast<uint64_t>(row.number(0)));
    if (!one) return one.error();
    if (!one.value()) continue;
    Race& race = *one.value();
    all.push_back({std::move(race.finding), race.row.state, race.reason, row.text(1), race.until_ms,
                   std::move(race.history)});
  }
  if (on.failed()) return on.error();
  return all;
}

Result<api::PushAnswer> Store::import(const std::string& program, const Who& who,
                                      const std::vector<Moved>& races, int64_t now_ms) {
  return retried(*connection_, [&] { return import_once(program, who, races, now_ms); });
}

Result<api::PushAnswer> Store::import_once(const std::string& program, const Who& who,
                                           const std::vector<Moved>& races, int64_t now_ms) {
  Transaction on(*connection_);
  api::PushAnswer sum;
  std::vector<int64_t> numbers;
  for (const Moved& moved : races) {
    model::FindingsFile file;
    file.findings.push_back(moved.finding);
    const api::PushAnswer answer = push_into(on, program, who, file, now_ms, "", numbers);
    if (on.failed()) break;
    sum.added += answer.added;
    sum.known += answer.known;
    sum.evidence += answer.evidence;
    sum.repeated += answer.repeated;
    // What is known here already keeps what people said here.
    if (answer.added == 0) continue;
    const int64_t number = numbers[0];
    for (const RaceEvent& event : moved.history)
      if (event.what == "comment")
        note_history(on, program, number, {event.what, event.detail, event.who}, event.at_ms);
    if (!moved.owner.empty())
      on.run("UPDATE races SET owner=$3, owner_by='person' WHERE program=$1 AND number=$2",
             {program, number, moved.owner});
    if (moved.state != "open")
      set_state(on, program, number, "open", moved.state, {"state", moved.reason, who.credential},
                moved.until_ms, now_ms);
  }
  note_audit(on, program, who.credential, "import", std::to_string(sum.added) + " races added",
             now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return sum;
}

}  // namespace deadheat::hive::store
