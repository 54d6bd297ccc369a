// Views for people. Nothing here writes.
#include <algorithm>

#include "lib/hive/crowd/claim.h"
#include "lib/hive/store/statements.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {
namespace {

constexpr uint64_t kMostRows = 1000;

constexpr char kRowColumns[] =
    "SELECT number, display, title, kind, place, verdict, basis, consequence, state, owner, "
    "confidence, claimed_by, first_ms, last_ms, instances FROM races ";

api::RaceRow row_of(const Row& row) {
  api::RaceRow race;
  race.number = static_cast<uint64_t>(row.number(0));
  race.id = row.text(1);
  race.title = row.text(2);
  race.kind = row.text(3);
  race.where = row.text(4);
  race.verdict = row.text(5);
  race.basis = row.text(6);
  race.consequence = row.text(7);
  race.state = row.text(8);
  race.owner = row.text(9);
  race.confidence = row.real(10);
  race.claimed_by = static_cast<uint32_t>(row.number(11));
  race.first_seen_ms = row.number(12);
  race.last_seen_ms = row.number(13);
  race.instances = static_cast<uint32_t>(row.number(14));
  return race;
}

// Words of our own only: what the user typed never becomes SQL.
std::string order_by(const std::string& sort) {
  if (sort == "last_seen") return "last_ms DESC, number";
  if (sort == "confidence") return "confidence DESC, number";
  if (sort == "number") return "number";
  return "place_in_list, number";
}

std::string as_pattern(const std::string& text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '!') pattern += '!';
    pattern += c;
  }
  return pattern + "%";
}

std::vector<EvidenceCount> evidence_over_time(Statements& on, const std::string& program,
                                              int64_t number) {
  constexpr int64_t kBars = 40;
  const auto ends = on.run(
      "SELECT min(received_ms), max(received_ms) FROM evidence WHERE program=$1 AND number=$2",
      {program, number});
  if (ends.empty() || ends[0].null(0)) return {};
  const int64_t first = ends[0].number(0), width = (ends[0].number(1) - first) / kBars + 1;
  std::vector<EvidenceCount> all;
  for (const Row& row :
       on.run("SELECT (received_ms-$3)/$4, outcome, count(*) FROM evidence WHERE program=$1 AND "
              "number=$2 GROUP BY 1, 2 ORDER BY 1, 2",
              {program, number, first, width}))
    all.push_back({first + row.number(0) * width, row.text(1), row.number(2)});
  return all;
}

struct Stretch {
  int64_t first, last, width;
};

// The sums of the history's changes in each part of a stretch of time that has any. PostgreSQL sums
// in a hash; SQLite would sort the whole history to group it, although the index has it in order:
// there each part is a range of the index (100,000 entries: 8 ms of processor time, not 20).
std::vector<Row> deltas_over_time(Statements& on, const std::string& program,
                                  const Stretch& stretch) {
  if (on.postgres())
    return on.run(
        "SELECT (at_ms-$2)/$3, sum(open_delta), sum(true_delta) FROM history WHERE program=$1 "
        "GROUP BY 1 ORDER BY 1",
        {program, stretch.first, stretch.width});
  std::vector<Row> all;
  for (int64_t from = stretch.first; from <= stretch.last; from += stretch.width)
    for (Row& row : on.run("SELECT ($2-$3)/$4, sum(open_delta), sum(true_delta) FROM history WHERE "
                           "program=$1 AND at_ms>=$2 AND at_ms<$2+$4",
                           {program, from, stretch.first, stretch.width}))
      if (!row.null(1)) all.push_back(std::move(row));
  return all;
}

}  // namespace

Result<api::RaceList> Store::races(const std::string& program, const RaceQuery& query) {
  Statements on(*connection_);
  std::string where = "WHERE program=$1";
  std::vector<Value> values = {program};
  const auto parameter = [&](Value value) {
    values.push_back(std::move(value));
    return "$" + std::to_string(values.size());
  };
  std::string fits;
  if (!query.verdict.empty()) where += " AND verdict=" + parameter(query.verdict);
  if (!query.state.empty()) where += " AND state=" + parameter(query.state);
  if (!query.text.empty()) {
    fits = " AND words LIKE lower(" + parameter(as_pattern(query.text)) + ") ESCAPE '!'";
  }
  api::RaceList list;
  // A search alone is answered from an index that has the words.
  const std::string found =
      " AND number IN (SELECT number FROM races WHERE program=$1" + fits + ")";
  const bool alone = query.verdict.empty() && query.state.empty();
  const auto count = on.run(
      "SELECT count(*) FROM races " + where + (fits.empty() || alone ? fits : found), values);
  if (!count.empty()) list.total = static_cast<uint64_t>(count[0].number(0));
  // Few are found first and sorted then; of many the first ones are soon met in the list's order.
  constexpr uint64_t kMany = 2000;
  if (!fits.empty()) where += list.total > kMany ? fits : found;
  const std::string limit = parameter(static_cast<int64_t>(std::min(query.limit, kMostRows)));
  const std::string offset = parameter(static_cast<int64_t>(query.offset & INT64_MAX));
  for (const Row& row : on.run(kRowColumns + where + " ORDER BY " + order_by(query.sort) +
                                   " LIMIT " + limit + " OFFSET " + offset,
                               values))
    list.races.push_back(row_of(row));
  if (on.failed()) return on.error();
  return list;
}

Result<std::optional<Race>> Store::race(const std::string& program, uint64_t number) {
  Statements on(*connection_);
  const auto n = static_cast<int64_t>(number & INT64_MAX);
  const auto rows =
      on.run(std::string(kRowColumns) + "WHERE program=$1 AND number=$2", {program, n});
  const auto document = on.run(
      "SELECT document, reason, until_ms FROM races WHERE program=$1 AND number=$2", {program, n});
  if (on.failed()) return on.error();
  if (rows.empty()) return std::optional<Race>();
  Race race;
  race.reason = document[0].text(1);
  race.until_ms = document[0].number(2);
  race.row = row_of(rows[0]);
  if (auto finding = from_document(document[0].text(0))) race.finding = std::move(*finding);
  for (crowd::Said& one : evidence_of(on, program, n, true)) {
    one.evidence.id = one.credential + "/" + one.evidence.id;
    one.evidence.source = one.credential;
    if (!one.trusted) crowd::make_claim(one.evidence);
    race.finding.evidence.push_back(std::move(one.evidence));
  }
  for (const Row& row : on.run(
           "SELECT at_ms, what, detail, who FROM history WHERE program=$1 AND number=$2 ORDER BY "
           "step",
           {program, n}))
    race.history.push_back({row.number(0), row.text(1), row.text(2), row.text(3)});
  race.over_time = evidence_over_time(on, program, n);
  if (on.failed()) return on.error();
  return std::optional<Race>(std::move(race));
}

Result<model::FindingsFile> Store::all_findings(const std::string& program) {
  Statements on(*connection_);
  model::FindingsFile file;
  for (const Row& row :
       on.run("SELECT number FROM races WHERE program=$1 ORDER BY number", {program})) {
    auto one = race(program, static_cast<uint64_t>(row.number(0)));
    if (!one) return one.error();
    if (one.value()) file.findings.push_back(std::move((*one)->finding));
  }
  if (on.failed()) return on.error();
  return file;
}

Result<std::vector<Instance>> Store::instances(const std::string& program, size_t most) {
  Statements on(*connection_);
  std::vector<Instance> all;
  for (const Row& row : on.run(
           "SELECT id, credential, build_id, version, spent_ppm, dropped, jobs, timeouts, "
           "first_ms, "
           "last_ms, (SELECT count(*) FROM jobs j WHERE j.program=i.program AND "
           "j.credential=i.credential AND j.instance=i.id AND j.state='leased'), budget_ppm FROM "
           "instances i "
           "WHERE program=$1 ORDER BY last_ms DESC, id LIMIT $2",
           {program, static_cast<int64_t>(most)})) {
    Instance one;
    one.id = row.text(0);
    one.credential = row.text(1);
    one.build_id = row.text(2);
    one.version = row.text(3);
    one.spent_ppm = row.number(4);
    one.dropped = row.number(5);
    one.jobs = row.number(6);
    one.timeouts = row.number(7);
    one.first_ms = row.number(8);
    one.last_ms = row.number(9);
    one.in_flight = row.number(10);
    one.budget_ppm = row.number(11);
    all.push_back(std::move(one));
  }
  if (on.failed()) return on.error();
  return all;
}

Result<Totals> Store::totals(const std::string& program, bool brief) {
  Statements on(*connection_);
  Totals totals;
  for (const Row& row : on.run("SELECT verdict, count(*), sum(proved) FROM races WHERE program=$1 "
                               "GROUP BY verdict",
                               {program})) {
    totals.races += row.number(1);
    totals.proved += row.number(2);
    if (row.text(0) == "true_race") totals.true_races = row.number(1);
    if (row.text(0) == "likely_false_positive") totals.likely_false = row.number(1);
    if (row.text(0) == "unknown") totals.unknown = row.number(1);
  }
  const auto count = [&](const std::string& sql) {
    const auto rows = on.run(sql, {program});
    return rows.empty() ? int64_t{0} : rows[0].number(0);
  };
  if (!brief)
    totals.evidence = count("SELECT count(*) FROM evidence WHERE program=$1") +
                      count("SELECT coalesce(sum(count),0) FROM rolled_up WHERE program=$1");
  totals.instances = count("SELECT count(*) FROM instances WHERE program=$1");
  totals.jobs_in_flight = count("SELECT count(*) FROM jobs WHERE program=$1 AND state='leased'");
  if (on.failed()) return on.error();
  return totals;
}

Result<std::vector<AuditEntry>> Store::audit(const std::string& program, size_t most) {
  Statements on(*connection_);
  std::vector<AuditEntry> all;
  for (const Row& row :
       on.run("SELECT at_ms, program, who, what, detail FROM audit WHERE program=$1 "
              "ORDER BY step DESC LIMIT $2",
              {program, static_cast<int64_t>(most)}))
    all.push_back({row.number(0), row.text(1), row.text(2), row.text(3), row.text(4)});
  if (on.failed()) return on.error();
  return all;
}

Result<std::vector<TrendPoint>> Store::trend(const std::string& program, size_t points) {
  Statements on(*connection_);
  const auto ends =
      on.run("SELECT min(at_ms), max(at_ms) FROM history WHERE program=$1", {program});
  std::vector<TrendPoint> all;
  if (on.failed()) return on.error();
  if (ends.empty() || ends[0].null(0)) return all;
  const int64_t first = ends[0].number(0), last = ends[0].number(1);
  const int64_t width = (last - first) / static_cast<int64_t>(points) + 1;
  TrendPoint now;
  for (const Row& row : deltas_over_time(on, program, {first, last, width})) {
    now.at_ms = std::min(first + (row.number(0) + 1) * width - 1, last);
    now.open += row.number(1);
    now.true_races += row.number(2);
    all.push_back(now);
  }
  if (on.failed()) return on.error();
  return all;
}

}  // namespace deadheat::hive::store
