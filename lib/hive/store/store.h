// The hive's database: programs, credentials, races, evidence, instances, jobs, history and audit.
//
// Each function is one transaction: after a crash at any moment, all of it happened or none.
// Sending a result or a finding again changes nothing (its id is the key). The caller supplies the
// time, in milliseconds since 1970, so that tests have their own clock; a clock that steps back
// only shortens leases a little.
//
// The SQL is written once, for SQLite and PostgreSQL; connection.h says how they differ.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/hive/api/wire.h"
#include "lib/hive/crowd/assign.h"
#include "lib/hive/crowd/judge.h"
#include "lib/hive/crowd/suspects.h"
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
  std::string what, detail, who;
};

// Results about a race in a stretch of time.
struct EvidenceCount {
  int64_t at_ms = 0;  // its begin
  std::string outcome;
  int64_t count = 0;
};

// Numbers of races at the end of a stretch of time.
struct TrendPoint {
  int64_t at_ms = 0, open = 0, true_races = 0;
};

// What the scan of one version changed, and how many races were open and true after it.
struct VersionPoint {
  std::string version;
  int64_t at_ms = 0, listed = 0, added = 0, fixed = 0, stale = 0, reopened = 0;
  int64_t open = 0, true_races = 0;
};

struct Build {
  std::string build_id, version, digest, signature, who;
  int64_t bytes = 0, at_ms = 0;
};

struct Hook {
  std::string id, url, secret;
  std::string answer;  // to its last call
  int64_t created_ms = 0, answer_ms = 0, waiting = 0, given_up = 0;
};

// A call of a web hook that is due.
struct HookCall {
  std::string program, id, hook, url, secret, body;
  int64_t tries = 0;
};

// A race as it moves from one hive to another.
struct Moved {
  model::Finding finding;
  std::string state, reason, owner;
  int64_t until_ms = 0;
  std::vector<RaceEvent> history;
};

struct Race {
  api::RaceRow row;
  model::Finding finding;  // with the evidence that stands
  std::vector<RaceEvent> history;
  std::vector<EvidenceCount> over_time;
  std::string reason;  // of its state
  int64_t until_ms = 0;
};

struct Instance {
  std::string id, credential, build_id, version;
  int64_t spent_ppm = 0, budget_ppm = 0, dropped = 0, jobs = 0, timeouts = 0, in_flight = 0;
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
  int64_t most_instances = 1000;  // of one credential in an hour
};

struct Polled : api::PollAnswer {
  bool too_many_instances = false;  // the credential's; nothing was given
  bool again = false;               // others took what there was in the same moment
};

struct Kept : api::ResultsAnswer {
  bool news = false;  // a verdict or a state changed
};

// How the instances of a program fare, as counted lately.
struct Average {
  crowd::Load load;
  int64_t counted_ms = 0;
  int uses_left = 0;
};
using Averages = std::map<std::string, Average>;

class Transaction;

class Store {
 public:
  // A path, or postgresql://...; `create`: make it if there is none, and bring it up to date.
  static Result<std::unique_ptr<Store>> open(const std::string& where, bool create, uint64_t seed);
  Store(std::unique_ptr<Connection> connection, uint64_t seed)
      : connection_(std::move(connection)), random_(seed) {}

  Settings settings;
  Connection& connection() { return *connection_; }

  Result<std::vector<std::string>> programs();

  Status add_token(const Token& token, const std::string& who, int64_t now_ms);
  Result<std::optional<Token>> find_token(const std::string& program, const std::string& id);
  Result<std::vector<Token>> tokens(const std::string& program);
  // Withdraws its evidence: every race that it spoke about is judged again. False: there is none.
  Result<bool> revoke(const std::string& program, const std::string& id, const std::string& who,
                      int64_t now_ms);
  // A secret of the hive's own, made once: all processes over one database share it.
  Result<std::string> secret(const std::string& name, const std::string& proposal);

  // `scan_of`: a version of which the file has everything that the scan listed; what earlier scans
  // listed and this one does not is fixed (if it was true) or stale.
  Result<api::PushAnswer> push(const std::string& program, const Who& who,
                               const model::FindingsFile& file, int64_t now_ms,
                               const std::string& scan_of = "");
  Result<Polled> poll(const std::string& program, const Who& who, const api::Poll& poll,
                      int64_t now_ms);
  Result<Kept> add_results(const std::string& program, const Who& who, const api::Results& results,
                           int64_t now_ms);
  // Differs after each change, at whatever hive, that lets a question find more than before.
  Result<std::string> change_mark(const std::string& program, int64_t now_ms);

  Result<api::RaceList> races(const std::string& program, const RaceQuery& query);
  Result<std::optional<Race>> race(const std::string& program, uint64_t number);
  Result<model::FindingsFile> all_findings(const std::string& program);
  Result<int64_t> fleet_size(const std::string& program, int64_t since_ms);
  // Results before this time that say nothing become counts; jobs that are over go. How many rows.
  Result<int64_t> prune(const std::string& program, int64_t before_ms, int64_t now_ms);
  Result<std::vector<Instance>> instances(const std::string& program, size_t most);
  // `brief`: without the number of pieces of evidence, which takes long where there are millions.
  Result<Totals> totals(const std::string& program, bool brief = false);
  Result<std::vector<AuditEntry>> audit(const std::string& program, size_t most);
  // How many races were open and how many true, over all of the history, in so many points.
  Result<std::vector<TrendPoint>> trend(const std::string& program, size_t points);

  Result<std::vector<VersionPoint>> versions(const std::string& program);
  // A CODEOWNERS file, and the folder that its paths begin at. Owners that people set stay. How
  // many races it gave an owner.
  Result<int64_t> set_owners(const std::string& program, const Who& who, const std::string& rules,
                             const std::string& folder, int64_t now_ms);

  // A build is what its id says, once: the same again changes nothing, another one is refused.
  Status add_build(const std::string& program, const Build& build, const std::string& content,
                   int64_t now_ms);
  Result<std::vector<Build>> builds(const std::string& program);
  Result<std::optional<std::pair<Build, std::string>>> build(const std::string& program,
                                                             const std::string& build_id);

  Status add_hook(const std::string& program, const Hook& hook, const std::string& who,
                  int64_t now_ms);
  Result<bool> remove_hook(const std::string& program, const std::string& id,
                           const std::string& who, int64_t now_ms);
  Result<std::vector<Hook>> hooks(const std::string& program);
  // A call that is due, leased for a while; and what came of it (empty: it was taken).
  Result<std::optional<HookCall>> next_call(int64_t now_ms);
  Status end_call(const HookCall& call, const std::string& answer, bool taken, int64_t now_ms);

  Result<std::vector<Moved>> moved(const std::string& program);
  Result<api::PushAnswer> import(const std::string& program, const Who& who,
                                 const std::vector<Moved>& races, int64_t now_ms);

  // `truth`: race, no_race, or empty: its truth is not known. False: there is none of this number.
  Result<bool> set_control(const std::string& program, uint64_t number, const std::string& truth,
                           const Who& who, int64_t now_ms);
  // Credentials by their answers about races of known truth.
  Result<std::vector<crowd::Suspect>> suspects(const std::string& program);

  // What a person says about a race. False: there is none of this number.
  Result<bool> edit(const std::string& program, uint64_t number, const Who& who,
                    const api::Edit& edit, int64_t now_ms);
  // Suppressions that have run out: their races are open again.
  Status end_suppressions(const std::string& program, int64_t now_ms);

 private:
  Result<bool> revoke_once(const std::string& program, const std::string& id,
                           const std::string& who, int64_t now_ms);
  Result<api::PushAnswer> push_once(const std::string& program, const Who& who,
                                    const model::FindingsFile& file, int64_t now_ms,
                                    const std::string& scan_of);
  // Part of a transaction. `numbers`: the race of each finding.
  api::PushAnswer push_into(Transaction& on, const std::string& program, const Who& who,
                            const model::FindingsFile& file, int64_t now_ms,
                            const std::string& scan_of, std::vector<int64_t>& numbers);
  Result<api::PushAnswer> import_once(const std::string& program, const Who& who,
                                      const std::vector<Moved>& races, int64_t now_ms);
  Result<Polled> poll_once(const std::string& program, const Who& who, const api::Poll& poll,
                           int64_t now_ms);
  Result<Kept> add_results_once(const std::string& program, const Who& who,
                                const api::Results& results, int64_t now_ms);

  std::unique_ptr<Connection> connection_;
  Random random_;
  Averages averages_;
};

}  // namespace deadheat::hive::store
