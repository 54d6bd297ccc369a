#include "lib/hive/store/store.h"

#include "lib/hive/store/schema.h"
#include "lib/hive/store/statements.h"
#include "lib/model/json.h"

namespace deadheat::hive::store {

std::string_view name(Role role) {
  switch (role) {
    case Role::kAgent:
      return "agent";
    case Role::kDeveloper:
      return "developer";
    case Role::kAdmin:
      return "admin";
  }
  return "agent";
}

std::optional<Role> parse_role(std::string_view word) {
  for (const Role role : {Role::kAgent, Role::kDeveloper, Role::kAdmin})
    if (name(role) == word) return role;
  return std::nullopt;
}

bool is_postgres(const std::string& where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

Result<std::unique_ptr<Connection>> open_connection(const std::string& where, bool create) {
  return is_postgres(where) ? open_postgres(where) : open_sqlite(where, create);
}

Result<std::unique_ptr<Store>> Store::open(const std::string& where, bool create, uint64_t seed) {
  auto connection = open_connection(where, create);
  if (!connection) return connection.error();
  if (create) {
    if (const auto migrated = migrate(*connection.value()); !migrated) return migrated.error();
  } else {
    const auto version = schema_version(*connection.value());
    if (!version) return version.error();
    if (version.value() != newest_schema())
      return Error{"the hive's database has schema " + std::to_string(version.value()) +
                       ", this version needs " + std::to_string(newest_schema()),
                   version.value() == 0 ? "`deadheat hive init` makes it"
                   : version.value() < newest_schema()
                       ? "`deadheat hive migrate` brings it up to date"
                       : "use a later version of deadheat"};
  }
  return std::make_unique<Store>(std::move(connection).value(), seed);
}

void note_audit(Statements& on, const std::string& program, const std::string& who,
                const std::string& what, const std::string& detail, int64_t now_ms) {
  const auto step =
      on.run("UPDATE programs SET next_audit=next_audit+1 WHERE program=$1 RETURNING next_audit-1",
             {program});
  if (step.empty()) return;
  on.run("INSERT INTO audit VALUES($1,$2,$3,$4,$5,$6)",
         {program, step[0].number(0), now_ms, who, what, detail});
}

void hold_token(Statements& on, const std::string& program, const Who& who) {
  if (on.postgres())
    on.run("SELECT 1 FROM tokens WHERE program=$1 AND id=$2 FOR SHARE", {program, who.credential});
}

void note_history(Statements& on, const std::string& program, int64_t number, const Change& change,
                  int64_t now_ms) {
  on.note_news();
  on.run(
      "INSERT INTO history(program,number,step,at_ms,what,detail,who,open_delta,true_delta) SELECT "
      "$1,$2,coalesce(max(step),0)+1,$3,$4,$5,$6,$7,$8 FROM history WHERE program=$1 AND number=$2",
      {program, number, now_ms, change.what, change.detail, change.who, change.open_delta,
       change.true_delta});
}

std::string to_document(const model::Finding& finding) {
  model::FindingsFile file;
  file.findings.push_back({finding.candidate, {}, finding.suspicions});
  return model::to_json(file);
}

// The candidate is in the race's own row: here only its kind and the number of its roles.
std::string to_document(const model::Candidate& candidate, const model::Evidence& evidence) {
  model::FindingsFile file;
  model::Finding& finding = file.findings.emplace_back();
  finding.candidate.kind = candidate.kind;
  finding.candidate.roles.resize(candidate.roles.size());
  finding.evidence.push_back(evidence);
  return model::to_json(file);
}

std::optional<model::Finding> from_document(const std::string& document) {
  auto file = model::from_json(document);
  if (!file || file->findings.size() != 1) return std::nullopt;
  return std::move(file->findings[0]);
}

Result<std::vector<std::string>> Store::programs() {
  Statements on(*connection_);
  std::vector<std::string> names;
  for (const Row& row : on.run("SELECT program FROM programs WHERE program<>'*' ORDER BY program"))
    names.push_back(row.text(0));
  if (on.failed()) return on.error();
  return names;
}

namespace {

Token token_of(const Row& row) {
  Token token;
  token.program = row.text(0);
  token.id = row.text(1);
  token.secret_hash = row.text(2);
  token.role = parse_role(row.text(3)).value_or(Role::kAgent);
  token.trusted = row.number(4) != 0;
  token.label = row.text(5);
  token.created_ms = row.number(6);
  token.expires_ms = row.number(7);
  token.revoked_ms = row.number(8);
  return token;
}

constexpr char kTokenColumns[] =
    "SELECT program,id,secret_hash,role,trusted,label,created_ms,expires_ms,revoked_ms FROM "
    "tokens ";

}  // namespace

Status Store::add_token(const Token& token, const std::string& who, int64_t now_ms) {
  Transaction on(*connection_);
  on.run("INSERT INTO programs(program, created_ms) VALUES($1,$2) ON CONFLICT DO NOTHING",
         {token.program, now_ms});
  on.run("INSERT INTO tokens VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9)",
         {token.program, token.id, token.secret_hash, std::string(name(token.role)),
          int64_t{token.trusted}, token.label, now_ms, token.expires_ms, int64_t{0}});
  note_audit(on, token.program, who, "token",
             token.id + " " + std::string(name(token.role)) + (token.trusted ? " trusted" : ""),
             now_ms);
  return on.commit();
}

Result<std::optional<Token>> Store::find_token(const std::string& program, const std::string& id) {
  Statements on(*connection_);
  const auto rows =
      on.run(std::string(kTokenColumns) + "WHERE program=$1 AND id=$2", {program, id});
  if (on.failed()) return on.error();
  if (rows.empty()) return std::optional<Token>();
  return std::optional<Token>(token_of(rows[0]));
}

Result<std::vector<Token>> Store::tokens(const std::string& program) {
  Statements on(*connection_);
  std::vector<Token> all;
  for (const Row& row :
       on.run(std::string(kTokenColumns) + "WHERE program=$1 ORDER BY created_ms, id", {program}))
    all.push_back(token_of(row));
  if (on.failed()) return on.error();
  return all;
}

Result<bool> Store::revoke(const std::string& program, const std::string& id,
                           const std::string& who, int64_t now_ms) {
  return retried(*connection_, [&] { return revoke_once(program, id, who, now_ms); });
}

Result<bool> Store::revoke_once(const std::string& program, const std::string& id,
                                const std::string& who, int64_t now_ms) {
  Transaction on(*connection_);
  const auto done = on.run(
      "UPDATE tokens SET revoked_ms=$3 WHERE program=$1 AND id=$2 AND revoked_ms=0 RETURNING id",
      {program, id, now_ms});
  if (!done.empty()) {
    const auto spoken = on.run(
        "SELECT DISTINCT number FROM evidence WHERE program=$1 AND credential=$2", {program, id});
    for (const Row& row : spoken)
      judge_again(on, program, row.number(0), settings.rules, random_, now_ms);
    note_audit(on, program, who, "revoke",
               id + ", evidence about " + std::to_string(spoken.size()) + " races withdrawn",
               now_ms);
  }
  if (const Status committed = on.commit(); !committed) return committed.error();
  return !done.empty();
}

Result<std::string> Store::secret(const std::string& name, const std::string& proposal) {
  Transaction on(*connection_);
  on.run("INSERT INTO secrets VALUES($1,$2) ON CONFLICT DO NOTHING", {name, proposal});
  const auto rows = on.run("SELECT secret FROM secrets WHERE name=$1", {name});
  if (const Status committed = on.commit(); !committed) return committed.error();
  return rows.at(0).text(0);
}

}  // namespace deadheat::hive::store
