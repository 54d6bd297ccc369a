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
  PRIMARY KEY(program, credential, id));
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

constexpr std::array<const char*, 2> kSteps = {kFirst, kSecond};

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

Status migrate_to(Connection& connection, int64_t version) {
  const auto now = schema_version(connection);
  if (!now) return now.error();
  if (now.value() > newest_schema())
    return Error{"the hive's database has schema " + std::to_string(now.value()) +
                     ", this version knows " + std::to_string(newest_schema()),
                 "use the version of deadheat that made it, or a later one"};
  std::string sql;
  if (now.value() == 0) sql = "CREATE TABLE hive_schema(version BIGINT NOT NULL PRIMARY KEY);";
  for (int64_t step = now.value(); step < version; ++step)
    sql += kSteps[static_cast<size_t>(step)] +
           ("INSERT INTO hive_schema VALUES(" + std::to_string(step + 1) + ");");
  if (sql.empty()) return Ok{};
  const Status done = connection.script("BEGIN;" + sql + "COMMIT;");
  if (!done) (void)connection.script("ROLLBACK;");
  return done;
}

Result<int64_t> migrate(Connection& connection) {
  const auto before = schema_version(connection);
  if (!before) return before.error();
  if (const Status done = migrate_to(connection, newest_schema()); !done) return done.error();
  return before.value();
}

}  // namespace deadheat::hive::store
