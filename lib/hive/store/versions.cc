// Versions of the program. The scan of a version lists what may race in it; a race that an earlier
// scan listed and the newest does not is gone from the program: fixed if it was true, otherwise
// stale. A scan reopens what a scan closed. What a person closed stays closed until it happens
// again: a static scan does not see every way to order things, people do.
//
// Only the newest version closes and opens: an old branch that is scanned late changes nothing.
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {
namespace {

int64_t one_number(Statements& on, const std::string& sql, const std::vector<Value>& values) {
  const auto rows = on.run(sql, values);
  return rows.empty() ? 0 : rows[0].number(0);
}

}  // namespace

int64_t version_step(Statements& on, const std::string& program, const std::string& version) {
  if (version.empty()) return 0;
  return one_number(on, "SELECT step FROM versions WHERE program=$1 AND version=$2",
                    {program, version});
}

void take_scan(Statements& on, const std::string& program, const Scan& scan, const std::string& who,
               int64_t now_ms) {
  const int64_t newest =
      one_number(on, "SELECT coalesce(max(step),0) FROM versions WHERE program=$1", {program});
  const int64_t known = version_step(on, program, scan.version);
  const int64_t step = known != 0 ? known : newest + 1;
  for (const int64_t number : scan.listed)
    on.run(
        "UPDATE races SET seen_version=CASE WHEN seen_version<$3 THEN $3 ELSE seen_version END "
        "WHERE program=$1 AND number=$2",
        {program, number, step});
  int64_t fixed = 0, stale = 0, reopened = 0;
  if (step >= newest) {
    for (const Row& row : on.run("SELECT number, verdict FROM races WHERE program=$1 AND "
                                 "state='open' AND seen_version>0 AND seen_version<$2",
                                 {program, step})) {
      const bool was_true = row.text(1) == "true_race";
      set_state(on, program, row.number(0), "open", was_true ? "fixed" : "stale",
                {"state", "the scan of " + scan.version + " does not list it", who}, 0, now_ms);
      on.run("UPDATE races SET closed_version=$3 WHERE program=$1 AND number=$2",
             {program, row.number(0), step});
      ++(was_true ? fixed : stale);
    }
    for (const Row& row : on.run("SELECT number, state FROM races WHERE program=$1 AND "
                                 "closed_version>0 AND seen_version=$2",
                                 {program, step})) {
      set_state(on, program, row.number(0), row.text(1), "open",
                {"state", "the scan of " + scan.version + " lists it again (reopened)", who}, 0,
                now_ms);
      ++reopened;
    }
  }
  const int64_t open =
      one_number(on, "SELECT count(*) FROM races WHERE program=$1 AND state='open'", {program});
  const int64_t is_true = one_number(
      on, "SELECT count(*) FROM races WHERE program=$1 AND state='open' AND verdict='true_race'",
      {program});
  on.run(
      "INSERT INTO versions VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11) ON CONFLICT(program, "
      "version) DO UPDATE SET at_ms=$4, listed=$5, added=versions.added+$6, "
      "fixed=versions.fixed+$7, stale=versions.stale+$8, reopened=versions.reopened+$9, open=$10, "
      "true_races=$11",
      {program, scan.version, step, now_ms, static_cast<int64_t>(scan.listed.size()),
       int64_t{scan.added}, fixed, stale, reopened, open, is_true});
}

Result<std::vector<VersionPoint>> Store::versions(const std::string& program) {
  Statements on(*connection_);
  std::vector<VersionPoint> all;
  for (const Row& row :
       on.run("SELECT version, at_ms, listed, added, fixed, stale, reopened, open, true_races FROM "
              "versions WHERE program=$1 ORDER BY step",
              {program})) {
    VersionPoint point;
    point.version = row.text(0);
    point.at_ms = row.number(1);
    point.listed = row.number(2);
    point.added = row.number(3);
    point.fixed = row.number(4);
    point.stale = row.number(5);
    point.reopened = row.number(6);
    point.open = row.number(7);
    point.true_races = row.number(8);
    all.push_back(std::move(point));
  }
  if (on.failed()) return on.error();
  return all;
}

crowd::Owners owners_of(Statements& on, const std::string& program) {
  const auto rows = on.run("SELECT rules, folder FROM owners WHERE program=$1", {program});
  return rows.empty() ? crowd::Owners() : crowd::Owners::parse(rows[0].text(0), rows[0].text(1));
}

// Those of both sides.
std::string owner_of(const crowd::Owners& owners, const model::Candidate& candidate) {
  std::string all;
  for (const model::Role& role : candidate.roles) {
    const std::string one = owners.of(role.site.file);
    if (one.empty() || all == one) continue;
    all += (all.empty() ? "" : " ") + one;
  }
  constexpr size_t kMost = 256;
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

Result<int64_t> Store::set_owners(const std::string& program, const Who& who,
                                  const std::string& rules, const std::string& folder,
                                  int64_t now_ms) {
  Transaction on(*connection_);
  on.run("SELECT 1 FROM programs WHERE program=$1" + on.row_lock(), {program});
  on.run(
      "INSERT INTO owners VALUES($1,$2,$3) ON CONFLICT(program) DO UPDATE SET folder=$2, rules=$3",
      {program, folder, rules});
  const crowd::Owners owners = crowd::Owners::parse(rules, folder);
  int64_t owned = 0;
  for (const Row& row : on.run("SELECT number, owner, document FROM races WHERE program=$1 AND "
                               "owner_by<>'person' ORDER BY number",
                               {program})) {
    const auto finding = from_document(row.text(2));
    if (!finding) continue;
    const std::string owner = owner_of(owners, finding->candidate);
    owned += owner.empty() ? 0 : 1;
    if (owner == row.text(1)) continue;
    on.run("UPDATE races SET owner=$3 WHERE program=$1 AND number=$2",
           {program, row.number(0), owner});
    note_history(on, program, row.number(0), {"owner", owner, "CODEOWNERS"}, now_ms);
  }
  note_audit(on, program, who.credential, "owners", std::to_string(owned) + " races", now_ms);
  if (const Status committed = on.commit(); !committed) return committed.error();
  return owned;
}

}  // namespace deadheat::hive::store
