#include "lib/hive/store/schema.h"

#include <array>
#include <string>

namespace deadheat::hive::store {
namespace {

// Every key begins with the program: a program's rows lie together, and a sharded PostgreSQL can
// place them by it. Times are milliseconds since 1970. `ord` is the order (a word of SQL
// otherwise).
constexpr char kFirst[] = R"(
CREATE TABLE programs(
  program TEXT NOT NULL PRIMARY KEY,
  next_number BIGINT NOT NULL DEFAULT 1,
  next_audit BIGINT NOT NULL DEFAULT 1,
  created_ms BIGINT NOT NULL);
CREATE TABLE tokens(
  program TEXT NOT NULL, id TEXT NOT NULL,
  secret_hash TEXT NOT NULL, role TEXT NOT NULL, trusted BIGINT NOT NULL, label TEXT NOT NULL,
  created_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, revoked_ms BIGINT NOT NULL,
  PRIMARY KEY(program, id));
CREATE TABLE races(
  program TEXT NOT NULL, number BIGINT NOT NULL,
  display TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, place TEXT NOT NULL,
  document TEXT NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL,
  verdict TEXT NOT NULL, basis TEXT NOT NULL, confidence DOUBLE PRECISION NOT NULL,
  consequence TEXT NOT NULL, claimed_by BIGINT NOT NULL, proved BIGINT NOT NULL,
  promoted BIGINT NOT NULL, turn DOUBLE PRECISION NOT NULL, shuffle BIGINT NOT NULL,
  holders BIGINT NOT NULL, answered_primary BIGINT NOT NULL, answered_alternate BIGINT NOT NULL,
  first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
  PRIMARY KEY(program, number));
CREATE INDEX races_turn ON races(program, proved, state, turn, shuffle);
CREATE TABLE race_keys(
  program TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL,
  PRIMARY KEY(program, name, number));
CREATE TABLE evidence(
  program TEXT NOT NULL, credential TEXT NOT NULL, id TEXT NOT NULL,
  number BIGINT NOT NULL, instance TEXT NOT NULL, execution BIGINT NOT NULL,
  outcome TEXT NOT NULL, proof TEXT NOT NULL, ord TEXT NOT NULL, ordered TEXT NOT NULL,
  maximum BIGINT NOT NULL, consequence TEXT NOT NULL, tau_us BIGINT NOT NULL,
  waited_us BIGINT NOT NULL, received_ms BIGINT NOT NULL, document TEXT,
  PRIMARY KEY(program, credential, id))/*parts*/;
CREATE INDEX evidence_race ON evidence(program, number);
CREATE TABLE instances(
  program TEXT NOT NULL, credential TEXT NOT NULL, id TEXT NOT NULL,
  build_id TEXT NOT NULL, version TEXT NOT NULL, spent_ppm BIGINT NOT NULL, dropped BIGINT NOT NULL,
  jobs BIGINT NOT NULL, timeouts BIGINT NOT NULL, first_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL,
  PRIMARY KEY(program, credential, id));
CREATE TABLE tried(
  program TEXT NOT NULL, number BIGINT NOT NULL, credential TEXT NOT NULL, instance TEXT NOT NULL,
  tau_primary BIGINT NOT NULL, tau_alternate BIGINT NOT NULL,
  tries_primary BIGINT NOT NULL, tries_alternate BIGINT NOT NULL,
  done_primary BIGINT NOT NULL, done_alternate BIGINT NOT NULL,
  PRIMARY KEY(program, number, credential, instance));
CREATE TABLE jobs(
  program TEXT NOT NULL, id TEXT NOT NULL,
  number BIGINT NOT NULL, credential TEXT NOT NULL, instance TEXT NOT NULL,
  ord TEXT NOT NULL, tau_us BIGINT NOT NULL, stride DOUBLE PRECISION NOT NULL,
  leased_ms BIGINT NOT NULL, expires_ms BIGINT NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY(program, id));
CREATE INDEX jobs_holder ON jobs(program, credential, instance, state);
CREATE INDEX jobs_expiry ON jobs(program, state, expires_ms);
CREATE TABLE history(
  program TEXT NOT NULL, number BIGINT NOT NULL, step BIGINT NOT NULL,
  at_ms BIGINT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  PRIMARY KEY(program, number, step));
CREATE TABLE audit(
  program TEXT NOT NULL, step BIGINT NOT NULL, at_ms BIGINT NOT NULL,
  who TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  PRIMARY KEY(program, step));
)";

// The list is sorted by when a race was last seen; the secret with which sessions are signed.
constexpr char kSecond[] = R"(
CREATE INDEX races_last ON races(program, last_ms);
CREATE TABLE secrets(name TEXT NOT NULL PRIMARY KEY, secret TEXT NOT NULL);
)";

// Comments, owners, states with reason and end; how many races are open and true over time, from
// the history alone; the list's orders as indexes, so that 100,000 races are listed at once.
constexpr char kThird[] = R"(
ALTER TABLE races ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE races ADD COLUMN until_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE races ADD COLUMN place_in_list BIGINT NOT NULL DEFAULT 1000000000;
UPDATE races SET place_in_list = CASE verdict WHEN 'true_race' THEN 0 WHEN 'unknown' THEN 1000000000
  ELSE 2000000000 END - proved * 500000000 - CASE WHEN claimed_by < 1000000 THEN claimed_by ELSE 1000000 END;
CREATE INDEX races_list ON races(program, place_in_list, number);
CREATE INDEX races_confidence ON races(program, confidence);
CREATE INDEX races_verdict ON races(program, verdict, state, proved);
CREATE INDEX races_until ON races(program, until_ms);
ALTER TABLE instances ADD COLUMN budget_ppm BIGINT NOT NULL DEFAULT 0;
ALTER TABLE history ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN open_delta BIGINT NOT NULL DEFAULT 0;
ALTER TABLE history ADD COLUMN true_delta BIGINT NOT NULL DEFAULT 0;
UPDATE history SET open_delta=1 WHERE what='found';
UPDATE history SET true_delta=CASE WHEN detail LIKE 'true_race%' THEN 1 ELSE 0 END -
  coalesce((SELECT CASE WHEN p.detail LIKE 'true_race%' THEN 1 ELSE 0 END FROM history p
  WHERE p.program=history.program AND p.number=history.number AND p.what='verdict' AND
  p.step<history.step ORDER BY p.step DESC LIMIT 1), 0) WHERE what='verdict';
CREATE INDEX history_time ON history(program, at_ms, open_delta, true_delta);
)";

// What a search looks at, in one column. SQLite's rows hold the whole document, so that a search
// reads an index that has just this; PostgreSQL keeps long values apart, and its index could not
// take long lines.
constexpr char kFourth[] = R"(
ALTER TABLE races ADD COLUMN words TEXT NOT NULL DEFAULT '';
UPDATE races SET words=lower(title || ' ' || place || ' ' || display);
/*sqlite*/CREATE INDEX races_words ON races(program, place_in_list, number, words);
)";

// Versions of the program and the scans that close races; who set an owner; builds, in parts of
// text (Base64) because the one SQL has no bytes; web hooks and the calls that wait; races with a
// known answer.
constexpr char kFifth[] = R"(
ALTER TABLE races ADD COLUMN seen_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE races ADD COLUMN closed_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE races ADD COLUMN owner_by TEXT NOT NULL DEFAULT '';
ALTER TABLE races ADD COLUMN control TEXT NOT NULL DEFAULT '';
UPDATE races SET owner_by='person' WHERE owner<>'';
CREATE INDEX races_control ON races(program, control);
CREATE TABLE versions(
  program TEXT NOT NULL, version TEXT NOT NULL, step BIGINT NOT NULL, at_ms BIGINT NOT NULL,
  listed BIGINT NOT NULL, added BIGINT NOT NULL, fixed BIGINT NOT NULL, stale BIGINT NOT NULL,
  reopened BIGINT NOT NULL, open BIGINT NOT NULL, true_races BIGINT NOT NULL,
  PRIMARY KEY(program, version));
CREATE TABLE owners(
  program TEXT NOT NULL PRIMARY KEY, folder TEXT NOT NULL, rules TEXT NOT NULL);
CREATE TABLE builds(
  program TEXT NOT NULL, build_id TEXT NOT NULL, version TEXT NOT NULL, bytes BIGINT NOT NULL,
  digest TEXT NOT NULL, signature TEXT NOT NULL, who TEXT NOT NULL, at_ms BIGINT NOT NULL,
  PRIMARY KEY(program, build_id));
CREATE TABLE build_parts(
  program TEXT NOT NULL, build_id TEXT NOT NULL, part BIGINT NOT NULL, content TEXT NOT NULL,
  PRIMARY KEY(program, build_id, part));
CREATE TABLE rolled_up(
  program TEXT NOT NULL, number BIGINT NOT NULL, outcome TEXT NOT NULL, count BIGINT NOT NULL,
  PRIMARY KEY(program, number, outcome));
CREATE TABLE hooks(
  program TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, secret TEXT NOT NULL,
  created_ms BIGINT NOT NULL, answer TEXT NOT NULL, answer_ms BIGINT NOT NULL,
  PRIMARY KEY(program, id));
CREATE TABLE hook_calls(
  program TEXT NOT NULL, id TEXT NOT NULL, hook TEXT NOT NULL, body TEXT NOT NULL,
  tries BIGINT NOT NULL, next_ms BIGINT NOT NULL, made_ms BIGINT NOT NULL,
  PRIMARY KEY(program, id));
CREATE INDEX hook_calls_next ON hook_calls(program, next_ms);
)";

// What an instance has begun and not ended is looked for in every poll.
constexpr char kSixth[] = R"(
CREATE INDEX tried_instance ON tried(program, credential, instance);
)";

// How many instances answered a race: the list shows it, and races of a fleet in use have thousands
// of answers each. `tried` has a row for each race and instance that ever answered, also of answers
// that `hive prune` removed.
constexpr char kSeventh[] = R"(
ALTER TABLE races ADD COLUMN instances BIGINT NOT NULL DEFAULT 0;
UPDATE races SET instances=(SELECT count(*) FROM tried t WHERE t.program=races.program AND
  t.number=races.number);
)";

constexpr std::array<const char*, 7> kSteps = {kFirst, kSecond, kThird,  kFourth,
                                               kFifth, kSixth,  kSeventh};

// In PostgreSQL evidence, the one table that grows with the fleet, is in parts by who said it: each
// part has its own indexes, vacuum and, in a cluster of servers, place. An id counts once for its
// credential, so the key that keeps it so begins with the columns that choose the part.
std::string for_postgres(std::string step) {
  constexpr char kOnlySqlite[] = "/*sqlite*/";
  if (const size_t at = step.find(kOnlySqlite); at != std::string::npos)
    step.erase(at, step.find(';', at) + 1 - at);
  constexpr int kParts = 8;
  constexpr char kMark[] = "/*parts*/;";
  const size_t at = step.find(kMark);
  if (at == std::string::npos) return step;
  std::string parts = " PARTITION BY HASH(program, credential);\n";
  for (int i = 0; i < kParts; ++i)
    parts += "CREATE TABLE evidence_" + std::to_string(i) +
             " PARTITION OF evidence FOR VALUES WITH (MODULUS " + std::to_string(kParts) +
             ", REMAINDER " + std::to_string(i) + ");\n";
  return step.replace(at, sizeof kMark - 1, parts);
}

}  // namespace

int64_t newest_schema() { return static_cast<int64_t>(kSteps.size()); }

Result<int64_t> schema_version(Connection& connection) {
  const char* asks = connection.dialect() == Dialect::kSqlite
                         ? "SELECT count(*) FROM sqlite_master WHERE name='hive_schema'"
                         : "SELECT count(*) FROM information_schema.tables WHERE "
                           "table_name='hive_schema' AND table_schema=current_schema()";
  const auto there = connection.run(asks, {});
  if (!there) return there.error();
  if (there.value()[0].number(0) == 0) return int64_t{0};
  const auto version = connection.run("SELECT max(version) FROM hive_schema", {});
  if (!version) return version.error();
  return version.value()[0].number(0);
}

namespace {

Status migrate_locked(Connection& connection, int64_t version) {
  const auto now = schema_version(connection);
  if (!now) return now.error();
  if (now.value() > newest_schema())
    return Error{"the hive's database has schema " + std::to_string(now.value()) +
                     ", this version knows " + std::to_string(newest_schema()),
                 "use the version of deadheat that made it, or a later one"};
  std::string sql;
  if (now.value() == 0) sql = "CREATE TABLE hive_schema(version BIGINT NOT NULL PRIMARY KEY);";
  for (int64_t step = now.value(); step < version; ++step) {
    const std::string text = kSteps[static_cast<size_t>(step)];
    sql += (connection.dialect() == Dialect::kPostgres ? for_postgres(text) : text) +
           "INSERT INTO hive_schema VALUES(" + std::to_string(step + 1) + ");";
  }
  return sql.empty() ? Status(Ok{}) : connection.script(sql);
}

}  // namespace

Status migrate_to(Connection& connection, int64_t version) {
  const bool postgres = connection.dialect() == Dialect::kPostgres;
  if (const Status begun = connection.script(postgres ? "BEGIN" : "BEGIN IMMEDIATE"); !begun)
    return begun.error();
  // Two hives that start at once over one new database: one makes the tables.
  Status done = postgres ? connection.script("SELECT pg_advisory_xact_lock(20261118)") : Ok{};
  if (done) done = migrate_locked(connection, version);
  if (done) done = connection.script("COMMIT");
  if (!done) (void)connection.script("ROLLBACK");
  return done;
}

Result<int64_t> migrate(Connection& connection) {
  const auto before = schema_version(connection);
  if (!before) return before.error();
  if (const Status done = migrate_to(connection, newest_schema()); !done) return done.error();
  return before.value();
}

}  // namespace deadheat::hive::store
