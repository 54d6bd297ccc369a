// The hive's memory: programs, credentials, races, evidence, instances, jobs, history and audit.
//
// Each function is one transaction: after a crash at any moment all of it happened or none. A
// result or a finding that is sent again changes nothing (its id is the key). Time comes from the
// caller, in milliseconds since 1970, so that tests have a clock of their own; a clock that steps
// back costs leases a little length and nothing else.
//
// The SQL is written once, for SQLite and PostgreSQL; connection.h says how they differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/hive/api/wire.h"
#include "lib/hive/crowd/assign.h"
#include "lib/hive/crowd/judge.h"
#include "lib/hive/store/connection.h"
#include "lib/model/finding.h"

namespace deadheat::hive::store {

enum class Role : uint8_t { kAgent, kDeveloper, kAdmin };
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view word);

struct Token {
  std::string program;  // "*": every program, for reading and administration
  std::string id, secret_hash, label;
  Role role = Role::kAgent;
  bool trusted = false;
  int64_t created_ms = 0, expires_ms = 0, revoked_ms = 0;  // 0: never
};

struct Who {
  std::string credential;  // the token's id
  bool trusted = false;
};

struct RaceQuery {
  std::string verdict, state, text;  // empty: all
  std::string sort = "verdict";      // verdict, last_seen, number, confidence
  uint64_t offset = 0, limit = 100;
};

struct RaceEvent {
  int64_t at_ms = 0;
  std::string what, detail;
};

struct Race {
  api::RaceRow row;
  model::Finding finding;  // with the evidence that stands
  std::vector<RaceEvent> history;
};

struct Instance {
  std::string id, credential, build_id, version;
  int64_t spent_ppm = 0, dropped = 0, jobs = 0, timeouts = 0, in_flight = 0;
  int64_t first_ms = 0, last_ms = 0;
};

struct AuditEntry {
  int64_t at_ms = 0;
  std::string program, who, what, detail;
};

struct Totals {
  int64_t races = 0, true_races = 0, proved = 0, likely_false = 0, unknown = 0;
  int64_t evidence = 0, instances = 0, jobs_in_flight = 0;
};

struct Settings {
  crowd::Policy policy;
  crowd::Rules rules;
  int64_t lease_ms = 600'000;
};

class Store {
 public:
  // A path, or postgresql://...; `create`: make it if there is none, and bring it up to date.
  static Result<std::unique_ptr<Store>> open(const std::string& where, bool create, uint64_t seed);
  Store(std::unique_ptr<Connection> connection, uint64_t seed)
      : connection_(std::move(connection)), random_(seed) {}

  Settings settings;
  Connection& connection() { return *connection_; }

  Status add_program(const std::string& program, int64_t now_ms);
  Result<std::vector<std::string>> programs();

  Status add_token(const Token& token, const std::string& who, int64_t now_ms);
  Result<std::optional<Token>> find_token(const std::string& program, const std::string& id);
  Result<std::vector<Token>> tokens(const std::string& program);
  // Withdraws its evidence: every race that it spoke about is judged again. False: there is none.
  Result<bool> revoke(const std::string& program, const std::string& id, const std::string& who,
                      int64_t now_ms);
  // A secret of the hive's own, made once: all processes over one database share it.
  Result<std::string> secret(const std::string& name, const std::string& proposal);

  Result<api::PushAnswer> push(const std::string& program, const Who& who,
                               const model::FindingsFile& file, int64_t now_ms);
  Result<api::PollAnswer> poll(const std::string& program, const Who& who, const api::Poll& poll,
                               int64_t now_ms);
  Result<api::ResultsAnswer> add_results(const std::string& program, const Who& who,
                                         const api::Results& results, int64_t now_ms);

  Result<api::RaceList> races(const std::string& program, const RaceQuery& query);
  Result<std::optional<Race>> race(const std::string& program, uint64_t number);
  Result<model::FindingsFile> all_findings(const std::string& program);
  Result<std::vector<Instance>> instances(const std::string& program, size_t most);
  Result<Totals> totals(const std::string& program);
  Result<std::vector<AuditEntry>> audit(const std::string& program, size_t most);
  // How many races had which verdict, day by day: from the history.
  Result<std::vector<RaceEvent>> verdict_changes(const std::string& program, size_t most);

 private:
  std::unique_ptr<Connection> connection_;
  Random random_;
};

}  // namespace deadheat::hive::store
