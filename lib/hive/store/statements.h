// Statements in a row, of which the first problem is kept: after it nothing runs. Private to the
// store. A Transaction that was not committed is rolled back.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  bool postgres() const { return connection_.dialect() == Dialect::kPostgres; }

 protected:
  Connection& connection_;
  std::optional<Error> problem_;
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

// Parts of a transaction that several functions of the store share.
void note_audit(Statements& on, const std::string& program, const std::string& who,
                const std::string& what, const std::string& detail, int64_t now_ms);
void note_history(Statements& on, const std::string& program, int64_t number,
                  const std::string& what, const std::string& detail, int64_t now_ms);
// Folds the evidence that stands and writes the verdict into the race.
void judge_again(Statements& on, const std::string& program, int64_t number,
                 const crowd::Rules& rules, int64_t now_ms);
// The evidence of a race that stands, each with who said it.
std::vector<crowd::Said> evidence_of(Statements& on, const std::string& program, int64_t number);

// The candidate and why finders suspect it; evidence has rows of its own.
std::string to_document(const model::Finding& finding);
std::string to_document(const model::Candidate& candidate, const model::Evidence& evidence);
std::optional<model::Finding> from_document(const std::string& document);

}  // namespace deadheat::hive::store
