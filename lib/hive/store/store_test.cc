// The store on SQLite; the crowd of the paper in short form. Clock and seeds are the tests' own.
#include "lib/hive/store/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "lib/base/text.h"
#include "lib/hive/store/schema.h"
#include "lib/model/enum_names.h"
#include "lib/model/json.h"

namespace deadheat::hive::store {
namespace {

using model::Outcome;

constexpr int64_t kNoon = 1'700'000'000'000;

model::Finding race_at(int line, const std::string& variable = "shared") {
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

model::FindingsFile races(int count) {
  model::FindingsFile file;
  for (int i = 0; i < count; ++i) file.findings.push_back(race_at(10 + i));
  return file;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Store::open(":memory:", true, 7);
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

  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, findings_are_known_again) {
  EXPECT_EQ(push(races(3)).added, 3U);
  const api::PushAnswer again = push(races(3));
  EXPECT_EQ(again.added, 0U);
  EXPECT_EQ(again.known, 3U);
  EXPECT_EQ(store_->totals("shop")->races, 3);
  // Another program knows nothing of them.
  EXPECT_EQ(store_->totals("other")->races, 0);
}

TEST_F(StoreTest, suspicions_of_several_finders_stay_with_the_race) {
  model::FindingsFile file = races(1);
  for (const char* finder : {"scan", "hybrid"}) {
    model::Suspicion suspicion;
    suspicion.id = suspicion.finder = finder;
    suspicion.why = "no lock in common";
    file.findings[0].suspicions = {suspicion};
    push(file);
  }
  auto race = store_->race("shop", 1);
  ASSERT_TRUE(race.ok() && *race);
  EXPECT_EQ((*race)->finding.suspicions.size(), 2U);
  EXPECT_EQ(row(1).verdict, "unknown");
}

TEST_F(StoreTest, pushed_evidence_counts_once_and_by_who_pushed_it) {
  model::FindingsFile file = races(1);
  model::Evidence& e = file.findings[0].evidence.emplace_back();
  e.id = "run/1";
  e.execution = "run";
  e.outcome = Outcome::kRace;
  e.proof = model::Proof::kHappensBefore;
  EXPECT_EQ(push(file, "dev").evidence, 1U);
  EXPECT_EQ(push(file, "dev").repeated, 1U);
  EXPECT_EQ(row(1).verdict, "true_race");
  EXPECT_EQ(row(1).basis, "claimed");
  EXPECT_EQ(push(file, "ci").evidence, 1U);
  EXPECT_EQ(row(1).basis, "observed");
  EXPECT_TRUE(poll("dev").jobs.empty()) << "a proved race is not given out";
}

TEST_F(StoreTest, a_claim_a_proof_and_its_end_everywhere) {
  push(races(1));
  token("a", Role::kAgent);
  token("b", Role::kAgent);
  const api::PollAnswer mine = poll("a");
  const api::PollAnswer other = poll("b");
  ASSERT_EQ(mine.jobs.size(), 1U);
  ASSERT_EQ(other.jobs.size(), 1U);
  EXPECT_EQ(mine.jobs[0].candidate, race_at(10).candidate);
  EXPECT_EQ(say("a", mine.jobs[0], Outcome::kRace).accepted, 1U);
  EXPECT_EQ(row(1).verdict, "true_race");
  EXPECT_EQ(row(1).basis, "claimed");
  EXPECT_EQ(row(1).claimed_by, 1U);
  EXPECT_TRUE(poll("b", "i", {other.jobs[0].id}).drop.empty()) << "a claim goes to others too";
  const api::PollAnswer trusted = poll("ci", "c", {}, kNoon, true);
  ASSERT_EQ(trusted.jobs.size(), 1U);
  EXPECT_EQ(say("ci", trusted.jobs[0], Outcome::kRace, "x", kNoon, "c").accepted, 1U);
  EXPECT_EQ(row(1).basis, "made_to_happen");
  EXPECT_EQ(poll("b", "i", {other.jobs[0].id}).drop, (std::vector{other.jobs[0].id}));
  EXPECT_TRUE(poll("b").jobs.empty());
}

TEST_F(StoreTest, results_count_once_and_only_when_asked_for) {
  push(races(1));
  token("a", Role::kAgent);
  token("b", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  EXPECT_EQ(say("b", job, Outcome::kRace).refused.size(), 1U) << "somebody else's job";
  EXPECT_EQ(say("a", job, Outcome::kRace, "", kNoon, "j").refused.size(), 1U);
  api::Job wrong = job;
  wrong.number = 99;
  EXPECT_EQ(say("a", wrong, Outcome::kRace).refused.size(), 1U);
  EXPECT_EQ(say("a", job, Outcome::kNoRace).accepted, 1U);
  EXPECT_EQ(say("a", job, Outcome::kNoRace).repeated, 1U);
  EXPECT_EQ(say("a", job, Outcome::kRace).repeated, 1U) << "an id stands for its first content";
  EXPECT_EQ(store_->totals("shop")->evidence, 1);
  EXPECT_EQ(row(1).verdict, "unknown") << "one credential against is not enough";
}

TEST_F(StoreTest, leases_run_out_and_late_answers_still_count) {
  push(races(1));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  EXPECT_EQ(store_->totals("shop")->jobs_in_flight, 1);
  const int64_t later = kNoon + store_->settings.lease_ms + 1;
  EXPECT_EQ(poll("b", "k", {}, later).jobs.size(), 1U);
  EXPECT_EQ(store_->totals("shop")->jobs_in_flight, 1) << "the first lease is over";
  EXPECT_EQ(poll("a", "i", {job.id}, later).drop, std::vector{job.id});
  EXPECT_EQ(say("a", job, Outcome::kRace, "", later).accepted, 1U);
  EXPECT_EQ(row(1).verdict, "true_race");
}

TEST_F(StoreTest, polls_renew_leases) {
  push(races(1));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  const int64_t half = store_->settings.lease_ms / 2 + 1;
  for (int i = 1; i < 5; ++i)
    EXPECT_TRUE(poll("a", "i", {job.id}, kNoon + i * half).drop.empty()) << i;
}

TEST_F(StoreTest, revoking_withdraws) {
  push(races(1));
  for (const char* who : {"a", "b"}) {
    token(who, Role::kAgent);
    say(who, poll(who).jobs.at(0), Outcome::kRace);
  }
  EXPECT_EQ(row(1).claimed_by, 2U);
  EXPECT_TRUE(*store_->revoke("shop", "a", "test", kNoon));
  EXPECT_EQ(row(1).claimed_by, 1U);
  EXPECT_TRUE(*store_->revoke("shop", "b", "test", kNoon));
  EXPECT_EQ(row(1).verdict, "unknown");
  EXPECT_FALSE(*store_->revoke("shop", "b", "test", kNoon)) << "once";
  auto race = store_->race("shop", 1);
  EXPECT_EQ((*race)->history.back().detail, "unknown");
  EXPECT_EQ(store_->audit("shop", 1)->at(0).what, "revoke");
}

TEST_F(StoreTest, tau_grows_by_timeouts_and_the_hive_says_which_was_the_last) {
  push(races(1));
  token("a", Role::kAgent);
  std::vector<uint32_t> taus;
  for (int i = 0; i < 100; ++i) {
    const api::PollAnswer answer = poll("a");
    if (answer.jobs.empty()) break;
    if (answer.jobs[0].order == model::Order::kPrimary) taus.push_back(answer.jobs[0].tau_us);
    say("a", answer.jobs[0], Outcome::kTimeout);
  }
  EXPECT_EQ(taus, (std::vector<uint32_t>{1000, 51000, 101000, 151000, 200000}));
}

TEST_F(StoreTest, everyone_gets_a_random_race_before_any_is_given_twice) {
  constexpr int kRaces = 40;
  push(races(kRaces));
  std::set<uint64_t> given;
  bool shuffled = false;
  for (int i = 0; i < kRaces; ++i) {
    const std::string who = "u" + std::to_string(i);
    const api::Job job = poll(who).jobs.at(0);
    EXPECT_TRUE(given.insert(job.number).second) << job.number << " was given twice";
    shuffled |= job.number != static_cast<uint64_t>(i) + 1;
  }
  EXPECT_TRUE(shuffled);
}

TEST_F(StoreTest, a_likely_false_positive_is_asked_for_rarely) {
  push(races(2));
  for (const char* who : {"a", "b", "c"}) token(who, Role::kAgent);
  store_->settings.policy.enough_tries = 1000;
  for (int i = 0; i < 30 && row(1).verdict != "likely_false_positive"; ++i)
    for (const char* who : {"a", "b", "c"})
      for (const api::Job& job : poll(who).jobs)
        say(who, job, job.number == 1 ? Outcome::kNoRace : Outcome::kNotSeen);
  ASSERT_EQ(row(1).verdict, "likely_false_positive");
  std::map<uint64_t, int> asked;
  for (int i = 0; i < 100; ++i)
    for (const char* who : {"a", "b", "c"})
      for (const api::Job& job : poll(who).jobs) {
        ++asked[job.number];
        say(who, job, Outcome::kNotSeen);
      }
  EXPECT_GT(asked[1], 0);
  EXPECT_GT(asked[2], asked[1] * 10);
}

TEST_F(StoreTest, text_that_looks_like_sql_is_text) {
  model::FindingsFile file;
  file.findings.push_back(race_at(1, "x'); DROP TABLE races; --"));
  push(file);
  RaceQuery query;
  query.text = "drop table";
  EXPECT_EQ(store_->races("shop", query)->total, 1U);
  query.text = "%";
  EXPECT_EQ(store_->races("shop", query)->total, 0U);
  query.text = "' OR '1'='1";
  EXPECT_EQ(store_->races("shop", query)->total, 0U);
  query = {};
  query.sort = "number; DROP TABLE races";
  EXPECT_EQ(store_->races("shop", query)->total, 1U);
}

TEST(Schema, an_old_database_is_brought_up_to_date_and_a_new_one_refused) {
  auto connection = open_sqlite(":memory:", true);
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(migrate_to(**connection, 1).ok());
  EXPECT_EQ(*schema_version(**connection), 1);
  ASSERT_TRUE(
      (*connection)->run("INSERT INTO programs VALUES('shop',1,1,$1)", {int64_t{kNoon}}).ok());
  EXPECT_EQ(*migrate(**connection), 1);
  EXPECT_EQ(*schema_version(**connection), newest_schema());
  ASSERT_TRUE((*connection)->script("INSERT INTO hive_schema VALUES(1000)").ok());
  EXPECT_FALSE(migrate(**connection).ok());
  Store store(std::move(connection).value(), 1);
  EXPECT_EQ(*store.programs(), std::vector<std::string>{"shop"});
}

TEST(File, what_was_acknowledged_is_there_after_opening_again) {
  const std::string path = testing::TempDir() + "hive_store_test." + std::to_string(::getpid());
  EXPECT_FALSE(Store::open(path, false, 1).ok()) << "nobody made it";
  {
    auto store = Store::open(path, true, 1);
    ASSERT_TRUE(store.ok());
    Token token;
    token.program = "shop";
    token.id = "dev";
    ASSERT_TRUE((*store)->add_token(token, "test", kNoon).ok());
    ASSERT_TRUE((*store)->push("shop", {"dev", false}, races(2), kNoon).ok());
    ASSERT_TRUE((*store)->connection().backup(path + ".copy").ok());
  }
  for (const std::string& file : {path, path + ".copy"}) {
    auto store = Store::open(file, false, 1);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ((*store)->totals("shop")->races, 2);
    EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::others_all,
              std::filesystem::perms::none);
  }
  for (const char* end : {"", "-wal", "-shm", ".copy", ".copy-wal", ".copy-shm"})
    std::filesystem::remove(path + end);
}

// The crowd of the paper in short form: users who exercise some races each, one in ten of them a
// liar. True races are 1 in 8 (the paper: 106 of 841). Honest users say Race of a true race half
// of the times that they reach it, NoRace of a false one; both see nothing of what they do not
// exercise.
TEST_F(StoreTest, a_crowd_finds_every_true_race_that_it_exercises) {
  constexpr int kRaces = 60, kUsers = 200, kRounds = 12;
  const uint64_t seed = 20261118;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  push(races(kRaces));
  const auto is_true = [](uint64_t number) { return number % 8 == 0; };
  struct User {
    std::string name;
    std::set<uint64_t> exercises;
    bool lies = false;
  };
  std::vector<User> users(kUsers);
  for (int i = 0; i < kUsers; ++i) {
    users[i].name = "u" + std::to_string(i);
    users[i].lies = random.chance(0.1);
    token(users[i].name, Role::kAgent);
    for (uint64_t number = 1; number <= kRaces; ++number)
      if (random.chance(0.5)) users[i].exercises.insert(number);
  }
  std::set<uint64_t> truly_raced;
  for (int round = 0; round < kRounds; ++round)
    for (const User& user : users)
      for (const api::Job& job : poll(user.name).jobs) {
        Outcome outcome = Outcome::kNotSeen;
        if (user.exercises.contains(job.number)) {
          const bool races_now = is_true(job.number) && random.chance(0.5);
          outcome = races_now != user.lies ? Outcome::kRace : Outcome::kNoRace;
          if (races_now && !user.lies) truly_raced.insert(job.number);
        }
        say(user.name, job, outcome);
      }
  int proved = 0, claimed_true = 0;
  for (uint64_t number = 1; number <= kRaces; ++number) {
    const api::RaceRow one = row(number);
    proved += one.basis != "claimed" && one.basis != "none" ? 1 : 0;
    if (is_true(number)) {
      EXPECT_TRUE(truly_raced.contains(number)) << "the crowd never exercised race " << number;
      EXPECT_EQ(one.verdict, "true_race") << number;
      ++claimed_true;
    }
  }
  EXPECT_EQ(proved, 0) << "nobody trusted has spoken";
  EXPECT_EQ(claimed_true, kRaces / 8);
}

}  // namespace
}  // namespace deadheat::hive::store
