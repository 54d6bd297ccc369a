// What the tests of the store share. A store on SQLite, or on the PostgreSQL that
// DEADHEAT_TEST_POSTGRES names (tests/hive/postgres_test.py starts one), a schema for each test.
// Clock and seeds are the tests' own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lib/hive/store/schema.h"
#include "lib/hive/store/store.h"

namespace deadheat::hive::store {

using model::Outcome;

constexpr int64_t kNoon = 1'700'000'000'000;

inline model::Finding race_at(int line, const std::string& variable = "shared") {
  model::Finding finding;
  finding.candidate.roles.resize(2);
  for (model::Role& role : finding.candidate.roles) {
    role.site.function = "work" + std::to_string(line) + "()";
    role.site.file = "/src/server.c";
    role.site.line = static_cast<uint32_t>(line);
    role.site.variable = variable;
    role.site.source_text = variable + "++;";
    role.access = model::AccessKind::kWrite;
  }
  finding.candidate.roles[0].name = "first";
  finding.candidate.roles[1].name = "second";
  finding.candidate.found_by = {"scan"};
  return finding;
}

inline model::FindingsFile races(int count) {
  model::FindingsFile file;
  for (int i = 0; i < count; ++i) file.findings.push_back(race_at(10 + i));
  return file;
}

// An empty database.
inline std::string fresh_database() {
  const char* url = std::getenv("DEADHEAT_TEST_POSTGRES");
  if (url == nullptr) return ":memory:";
  static int number = 0;
  const std::string schema = "t" + std::to_string(::getpid()) + "_" + std::to_string(++number);
  auto connection = open_postgres(url);
  if (!connection || !(*connection)->script("CREATE SCHEMA " + schema)) std::abort();
  return url + std::string("&options=-csearch_path%3D") + schema;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    database_ = fresh_database();
    auto opened = Store::open(database_, true, 7);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened).value();
    token("dev", Role::kDeveloper);
    token("ci", Role::kDeveloper, true);
  }

  void token(const std::string& id, Role role, bool trusted = false) {
    Token token;
    token.program = "shop";
    token.id = id;
    token.secret_hash = "h";
    token.role = role;
    token.trusted = trusted;
    const Status added = store_->add_token(token, "test", kNoon);
    ASSERT_TRUE(added.ok()) << added.error().message << added.error().hint;
  }

  api::PollAnswer poll(const std::string& who, const std::string& instance = "i",
                       std::vector<std::string> holding = {}, int64_t now_ms = kNoon,
                       bool trusted = false) {
    api::Poll request;
    request.instance = instance;
    request.holding = std::move(holding);
    auto answer = store_->poll("shop", {who, trusted}, request, now_ms);
    EXPECT_TRUE(answer.ok()) << answer.error().message << "; " << answer.error().hint;
    return answer.ok() ? *answer : api::PollAnswer();
  }

  api::ResultsAnswer say(const std::string& who, const api::Job& job, Outcome outcome,
                         const std::string& id = "", int64_t now_ms = kNoon,
                         const std::string& instance = "i") {
    api::Results results;
    results.instance = instance;
    api::JobResult& result = results.results.emplace_back();
    result.id = id.empty() ? job.id : id;
    result.job = job.id;
    result.number = job.number;
    result.execution = "e" + job.id;
    result.outcome = outcome;
    result.order = job.order;
    result.tau_us = job.tau_us;
    if (outcome == Outcome::kRace) result.proof = model::Proof::kCoEnabled;
    auto answer = store_->add_results("shop", {who, false}, results, now_ms);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? *answer : api::ResultsAnswer();
  }

  api::RaceRow row(uint64_t number) {
    auto race = store_->race("shop", number);
    EXPECT_TRUE(race.ok() && race.value().has_value());
    return race.ok() && *race ? (*race)->row : api::RaceRow();
  }

  api::PushAnswer push(const model::FindingsFile& file, const std::string& who = "dev") {
    auto answer = store_->push("shop", {who, who == "ci"}, file, kNoon);
    EXPECT_TRUE(answer.ok()) << answer.error().message << "; " << answer.error().hint;
    return answer.ok() ? *answer : api::PushAnswer();
  }

  std::string database_;
  std::unique_ptr<Store> store_;
};

}  // namespace deadheat::hive::store
