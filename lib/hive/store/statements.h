// Statements in sequence that keep the first problem: after it nothing runs. Private to the store.
// A Transaction that was not committed is rolled back.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/hive/crowd/owners.h"
#include "lib/hive/store/connection.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {

class Statements {
 public:
  explicit Statements(Connection& connection) : connection_(connection) {}

  std::vector<Row> run(const std::string& sql, const std::vector<Value>& values = {}) {
    if (problem_) return {};
    auto rows = connection_.run(sql, values);
    if (rows) return std::move(rows).value();
    problem_ = rows.error();
    return {};
  }
  bool failed() const { return problem_.has_value(); }
  void fail(Error error) {
    if (!problem_) problem_ = std::move(error);
  }
  const Error& error() const { return *problem_; }
  // The end of a SELECT whose rows no other transaction may change before this one ends. SQLite has
  // one writer at a time anyway.
  std::string row_lock() const { return postgres() ? " FOR UPDATE" : ""; }
  bool postgres() const { return connection_.dialect() == Dialect::kPostgres; }
  // Something went into the history of a race: a parked question may find something now.
  void note_news() { news_ = true; }
  bool news() const { return news_; }

 protected:
  Connection& connection_;
  std::optional<Error> problem_;
  bool news_ = false;
};

class Transaction : public Statements {
 public:
  explicit Transaction(Connection& connection) : Statements(connection) {
    const Status begun = connection_.script(postgres() ? "BEGIN" : "BEGIN IMMEDIATE");
    if (begun) {
      open_ = true;
    } else {
      problem_ = begun.error();
    }
  }
  ~Transaction() {
    if (open_) (void)connection_.script("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Status commit() {
    if (!problem_) {
      if (const Status done = connection_.script("COMMIT"); !done) {
        problem_ = done.error();
      } else {
        open_ = false;
      }
    }
    if (problem_) return *problem_;
    return Ok{};
  }

 private:
  bool open_ = false;
};

// A transaction that conflicted with another one is retried; ours are all
// repeatable.
template <typename Once>
auto retried(Connection& connection, Once once) {
  constexpr int kMost = 20;
  for (int i = 1;; ++i) {
    auto done = once();
    if (done || i >= kMost || !connection.collided()) return done;
  }
}

// Parts of a transaction that several functions of the store share.
void note_audit(Statements& on, const std::string& program, const std::string& who,
                const std::string& what, const std::string& detail, int64_t now_ms);
// Prevents revocation of the token before the transaction ends: either its evidence is there when
// it is withdrawn, or it comes later and is not counted.
void hold_token(Statements& on, const std::string& program, const Who& who);
// What happened to a race, and by how much it changed the numbers of open and of true ones.
struct Change {
  std::string what, detail, who = {};
  int64_t open_delta = 0, true_delta = 0;
};
void note_history(Statements& on, const std::string& program, int64_t number, const Change& change,
                  int64_t now_ms);
// What one push said of one version.
struct Scan {
  std::string version;
  std::set<int64_t> listed;
  uint32_t added = 0;
};
// Folds the evidence that stands and writes the verdict into the race.
void judge_again(Statements& on, const std::string& program, int64_t number,
                 const crowd::Rules& rules, Random& random, int64_t now_ms);
// The race's turn becomes that of the queue's head: it is given out next, and only so often.
void join_queue(Statements& on, const std::string& program, int64_t number);
// Reopens a race that was considered fixed or stale and happened again, unless it happened in a
// version before the one whose scan closed it (empty: unknown).
void reopen(Statements& on, const std::string& program, int64_t number, const std::string& who,
            const std::string& version, int64_t now_ms);
void set_state(Statements& on, const std::string& program, int64_t number, const std::string& from,
               const std::string& to, const Change& change, int64_t until_ms, int64_t now_ms);
// The place of a version in the program's history, from 1. 0: not known.
int64_t version_step(Statements& on, const std::string& program, const std::string& version);
// A scan of a whole version: which races it listed decides what is fixed, stale and open again.
void take_scan(Statements& on, const std::string& program, const Scan& scan, const std::string& who,
               int64_t now_ms);
// The program's CODEOWNERS.
crowd::Owners owners_of(Statements& on, const std::string& program);
std::string owner_of(const crowd::Owners& owners, const model::Candidate& candidate);
// A web hook's call for each hook of the program.
void call_hooks(Statements& on, const std::string& program, int64_t number, Random& random,
                int64_t now_ms);
// The evidence of a race that stands, each with who said it. Most of a fleet's results are
// NotSeen, which changes no verdict: `all` has them too.
std::vector<crowd::Said> evidence_of(Statements& on, const std::string& program, int64_t number,
                                     bool all);

// The candidate and why finders suspect it; evidence has rows of its own.
std::string to_document(const model::Finding& finding);
std::string to_document(const model::Candidate& candidate, const model::Evidence& evidence);
std::optional<model::Finding> from_document(const std::string& document);

}  // namespace deadheat::hive::store
