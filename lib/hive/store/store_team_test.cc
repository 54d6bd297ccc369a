// What a team does with its races in the store: versions, owners, hooks, builds, moving, controls.
#include <filesystem>
#include <map>
#include <set>

#include "lib/base/text.h"
#include "lib/hive/store/store_fixture.h"
#include "lib/model/enum_names.h"
#include "lib/model/json.h"

namespace deadheat::hive::store {
namespace {

// Versions: 1.0 lists three races, 1.1 one of them and a new one, 1.2 all four again.
TEST_F(StoreTest, a_scan_closes_what_it_no_longer_lists_and_opens_it_again) {
  const auto scan = [&](const std::string& version, std::vector<int> lines) {
    model::FindingsFile file;
    for (const int line : lines) file.findings.push_back(race_at(line));
    EXPECT_TRUE(store_->push("shop", {"ci", true}, file, kNoon, version).ok());
  };
  push(races(4));  // by a person: a race of his at line 13 is no scan's
  scan("1.0", {10, 11, 12});
  token("a", Role::kAgent);
  store_->settings.policy.enough_tries = 1000;
  std::optional<api::Job> of_true;
  for (int i = 0; i < 50 && !of_true; ++i) {
    const api::Job job = poll("a").jobs.at(0);
    if (job.number == 2) of_true = job;
    if (job.number != 2) say("a", job, Outcome::kNotSeen, "n" + std::to_string(i));
  }
  ASSERT_TRUE(of_true);
  say("a", *of_true, Outcome::kRace);
  scan("1.1", {10, 20});
  EXPECT_EQ(row(1).state, "open");
  EXPECT_EQ(row(2).state, "fixed") << "it was true";
  EXPECT_EQ(row(3).state, "stale") << "nobody knows";
  EXPECT_EQ(row(4).state, "open") << "no scan ever listed it";
  scan("1.0", {10, 11, 12});
  EXPECT_EQ(row(2).state, "fixed") << "an old version says nothing about the new one";
  // A race in 1.0 does not open what 1.1 fixed; one in 1.1 does.
  const auto happens_in = [&](const std::string& version, const std::string& id) {
    api::Poll asks;
    asks.instance = "i";
    asks.version = version;
    asks.holding = {"none"};
    EXPECT_TRUE(store_->poll("shop", {"a", false}, asks, kNoon).ok());
    say("a", *of_true, Outcome::kRace, id);
  };
  happens_in("1.0", "old");
  EXPECT_EQ(row(2).state, "fixed");
  happens_in("1.1", "new");
  EXPECT_EQ(row(2).state, "open");
  scan("1.2", {10, 11, 12, 20});
  EXPECT_EQ(row(3).state, "open");
  const auto versions = *store_->versions("shop");
  ASSERT_EQ(versions.size(), 3U);
  EXPECT_EQ(versions[1].version, "1.1");
  EXPECT_EQ(versions[1].added, 1);
  EXPECT_EQ(versions[1].fixed, 1);
  EXPECT_EQ(versions[1].stale, 1);
  EXPECT_EQ(versions[2].reopened, 1);
  EXPECT_EQ(versions[2].open, 5);
  EXPECT_EQ(versions[2].true_races, 1);
}

TEST_F(StoreTest, what_a_person_closed_no_scan_opens) {
  const auto scan = [&](const std::string& version) {
    EXPECT_TRUE(store_->push("shop", {"ci", true}, races(1), kNoon, version).ok());
  };
  scan("1.0");
  api::Edit fixed;
  fixed.state = "fixed";
  EXPECT_TRUE(*store_->edit("shop", 1, {"dev", false}, fixed, kNoon));
  scan("1.1");
  EXPECT_EQ(row(1).state, "fixed");
}

TEST_F(StoreTest, owners_come_from_the_rules_unless_a_person_said) {
  push(races(2));
  api::Edit edit;
  edit.owner = "ann";
  EXPECT_TRUE(*store_->edit("shop", 1, {"dev", false}, edit, kNoon));
  EXPECT_EQ(*store_->set_owners("shop", {"dev", false}, "*.c @core", "/src", kNoon), 1);
  EXPECT_EQ(row(1).owner, "ann");
  EXPECT_EQ(row(2).owner, "@core");
  push(races(3));
  EXPECT_EQ(row(3).owner, "@core") << "new ones too";
  EXPECT_EQ(*store_->set_owners("shop", {"dev", false}, "", "/src", kNoon), 0);
  EXPECT_EQ(row(2).owner, "");
}

TEST_F(StoreTest, a_hook_is_called_for_a_true_race_until_it_answers) {
  EXPECT_TRUE(store_->add_hook("shop", {"h", "http://x/", "s", "", 0, 0, 0, 0}, "t", kNoon).ok());
  push(races(2));
  EXPECT_FALSE(*store_->next_call(kNoon));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  say("a", job, Outcome::kRace);
  say("a", job, Outcome::kRace);
  auto call = *store_->next_call(kNoon);
  ASSERT_TRUE(call);
  EXPECT_NE(call->body.find("race_claimed"), std::string::npos) << call->body;
  EXPECT_FALSE(*store_->next_call(kNoon)) << "once, and it is leased";
  EXPECT_TRUE(*store_->next_call(kNoon + 60'000)) << "the hive that had it died";
  EXPECT_TRUE(store_->end_call(*call, "500", false, kNoon).ok());
  EXPECT_FALSE(*store_->next_call(kNoon + 4'999));
  call = *store_->next_call(kNoon + 10'000);
  ASSERT_TRUE(call);
  EXPECT_TRUE(store_->end_call(*call, "200", true, kNoon).ok());
  EXPECT_FALSE(*store_->next_call(kNoon + 100'000'000));
  // Nobody is called for ever.
  const api::PollAnswer trusted = poll("ci", "c", {}, kNoon, true);
  say("ci", trusted.jobs.at(0), Outcome::kRace, "x", kNoon, "c");
  int64_t now_ms = kNoon;
  int calls = 0;
  for (; calls < 100; ++calls) {
    now_ms += 4'000'000;
    call = *store_->next_call(now_ms);
    if (!call) break;
    EXPECT_NE(call->body.find("race_proved"), std::string::npos) << call->body;
    EXPECT_TRUE(store_->end_call(*call, "no answer", false, now_ms).ok());
  }
  EXPECT_EQ(calls, 12);
  EXPECT_EQ(store_->hooks("shop")->at(0).given_up, 1);
  EXPECT_TRUE(*store_->remove_hook("shop", "h", "t", kNoon));
}

TEST_F(StoreTest, a_build_is_one_content) {
  std::string content;
  for (int i = 0; i < 1'000'001; ++i) content += static_cast<char>(i * 7 + i / 256);
  Build build;
  build.build_id = "abcdef01";
  build.version = "1.0";
  build.digest = "d1";
  build.signature = "s";
  EXPECT_TRUE(store_->add_build("shop", build, content, kNoon).ok());
  EXPECT_TRUE(store_->add_build("shop", build, content, kNoon).ok()) << "again";
  build.digest = "d2";
  EXPECT_FALSE(store_->add_build("shop", build, "else", kNoon).ok());
  auto found = store_->build("shop", "abcdef01");
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_TRUE((*found)->second == content);
  EXPECT_FALSE(*store_->build("other", "abcdef01"));
  // An instance of this build runs this version.
  token("a", Role::kAgent);
  api::Poll asks;
  asks.instance = "i";
  asks.build_id = "abcdef01";
  EXPECT_TRUE(store_->poll("shop", {"a", false}, asks, kNoon).ok());
  EXPECT_EQ(store_->instances("shop", 1)->at(0).version, "1.0");
}

TEST_F(StoreTest, races_move_to_another_hive_with_what_people_said) {
  push(races(2));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  say("a", job, Outcome::kRace);
  api::Edit edit;
  edit.state = "suppressed";
  edit.reason = "later";
  edit.comment = "known";
  edit.owner = "ann";
  EXPECT_TRUE(*store_->edit("shop", job.number, {"dev", false}, edit, kNoon));
  const auto moved = *store_->moved("shop");
  auto other = Store::open(fresh_database(), true, 8);
  ASSERT_TRUE(other.ok());
  Token admin;
  admin.program = "shop";
  admin.id = "boss";
  admin.trusted = true;
  ASSERT_TRUE((*other)->add_token(admin, "test", kNoon).ok());
  EXPECT_EQ((*other)->import("shop", {"boss", true}, moved, kNoon)->added, 2U);
  auto race = *(*other)->race("shop", job.number);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->row.verdict, "true_race");
  EXPECT_EQ(race->row.basis, "claimed") << "a claim does not become a proof by moving";
  EXPECT_EQ(race->row.state, "suppressed");
  EXPECT_EQ(race->row.owner, "ann");
  const auto again = *(*other)->import("shop", {"boss", true}, moved, kNoon);
  EXPECT_EQ(again.added, 0U);
  EXPECT_EQ(again.evidence, 0U);
  EXPECT_EQ((*(*other)->race("shop", job.number))->history.size(), race->history.size());
}

TEST_F(StoreTest, controls_are_mixed_in_and_name_who_answers_them_wrong) {
  push(races(12));
  for (const uint64_t number : {1, 2, 3, 4})
    EXPECT_TRUE(*store_->set_control("shop", number, "no_race", {"dev", false}, kNoon));
  EXPECT_FALSE(*store_->set_control("shop", 99, "race", {"dev", false}, kNoon));
  store_->settings.policy.controls = 0.3;
  store_->settings.policy.enough_tries = 1000;
  int controls = 0, jobs = 0;
  for (const char* who : {"honest", "liar"}) token(who, Role::kAgent);
  for (int i = 0; i < 60; ++i)
    for (const std::string who : {"honest", "liar"})
      for (const api::Job& job : poll(who).jobs) {
        ++jobs;
        controls += job.number <= 4 ? 1 : 0;
        say(who, job, who == "liar" ? Outcome::kRace : Outcome::kNoRace, "r" + std::to_string(i));
      }
  EXPECT_GT(controls, jobs / 6);
  EXPECT_LT(controls, jobs / 2);
  const auto named = *store_->suspects("shop");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].credential, "liar");
  EXPECT_TRUE(named[0].named);
  EXPECT_FALSE(named[1].named);
  EXPECT_TRUE(*store_->revoke("shop", "liar", "test", kNoon));
  EXPECT_EQ(store_->suspects("shop")->size(), 1U);
}

TEST_F(StoreTest, instances_that_answered_are_counted_once_and_stay) {
  push(races(1));
  token("a", Role::kAgent);
  store_->settings.policy.enough_tries = 1000;
  for (const std::string instance : {"i", "k", "i"})
    say("a", poll("a", instance).jobs.at(0), Outcome::kNotSeen, "", kNoon, instance);
  EXPECT_EQ(row(1).instances, 2U);
  EXPECT_GT(*store_->prune("shop", kNoon + 1, kNoon), 0);
  EXPECT_EQ(row(1).instances, 2U);
}

TEST_F(StoreTest, old_results_that_say_nothing_become_counts) {
  push(races(1));
  token("a", Role::kAgent);
  store_->settings.policy.enough_tries = 1000;
  std::vector<api::Job> jobs;
  for (int i = 0; i < 6; ++i) {
    jobs.push_back(poll("a", "i", {}, kNoon + i).jobs.at(0));
    say("a", jobs.back(), i == 5 ? Outcome::kRace : Outcome::kNotSeen, "", kNoon + i);
  }
  EXPECT_EQ(*store_->prune("shop", kNoon + 3, kNoon), 3 + 3);
  EXPECT_EQ(store_->totals("shop")->evidence, 6);
  EXPECT_EQ(say("a", jobs[0], Outcome::kNotSeen).refused.size(), 1U) << "within its lease, too";
  EXPECT_EQ(store_->totals("shop")->evidence, 6);
  EXPECT_EQ(row(1).verdict, "true_race");
  const int64_t later = kNoon + 10 * store_->settings.lease_ms;
  EXPECT_EQ(*store_->prune("shop", later, later), 2 + 3);
  EXPECT_EQ(store_->totals("shop")->evidence, 6);
  EXPECT_EQ(say("a", jobs[0], Outcome::kNotSeen).refused.size(), 1U) << "nothing counts twice";
  EXPECT_EQ(store_->totals("shop")->evidence, 6);
}

// Parked questions look again after these, and only then: a fleet has thousands of them.
TEST_F(StoreTest, what_lets_others_find_more_is_news) {
  push(races(2));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0), other = poll("a", "j").jobs.at(0);
  const auto told = [&](const api::Job& about, const std::string& instance, Outcome outcome) {
    api::Results results;
    results.instance = instance;
    api::JobResult& result = results.results.emplace_back();
    result.id = result.job = about.id;
    result.number = about.number;
    result.outcome = outcome;
    result.order = about.order;
    if (outcome == Outcome::kRace) result.proof = model::Proof::kCoEnabled;
    auto kept = store_->add_results("shop", {"a", false}, results, kNoon);
    return kept.ok() && kept->accepted == 1 && kept->news;
  };
  const auto mark = [&] { return store_->change_mark("shop", kNoon).value(); };
  std::string before = mark();
  EXPECT_FALSE(told(job, "i", Outcome::kNotSeen));
  EXPECT_EQ(mark(), before);
  EXPECT_TRUE(told(other, "j", Outcome::kRace));
  EXPECT_NE(mark(), before);
  before = mark();
  api::Edit fixed;
  fixed.state = "fixed";
  EXPECT_TRUE(*store_->edit("shop", job.number, {"dev", false}, fixed, kNoon));
  EXPECT_NE(mark(), before);
  before = mark();
  push(races(3));
  EXPECT_NE(mark(), before);
}

TEST_F(StoreTest, an_offer_that_another_hive_gives_out_is_not_waited_for) {
  if (!is_postgres(database_)) GTEST_SKIP() << "SQLite has one writer at a time";
  push(races(2));
  token("a", Role::kAgent);
  auto hive = Store::open(database_, false, 8);
  ASSERT_TRUE(hive.ok());
  Connection& there = hive.value()->connection();
  ASSERT_TRUE(there.script("BEGIN").ok());
  ASSERT_TRUE(there.run("SELECT 1 FROM races WHERE number=1 FOR UPDATE", {}).ok());
  EXPECT_EQ(poll("a").jobs.at(0).number, 2U);
  ASSERT_TRUE(there.run("SELECT 1 FROM races FOR UPDATE", {}).ok());
  api::Poll asks;
  asks.instance = "j";
  auto nothing = store_->poll("shop", {"a", false}, asks, kNoon);
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->jobs.empty() && nothing->again);
  ASSERT_TRUE(there.script("ROLLBACK").ok());
  auto now = store_->poll("shop", {"a", false}, asks, kNoon);
  ASSERT_TRUE(now.ok());
  EXPECT_TRUE(now->jobs.size() == 1 && !now->again);
}

}  // namespace
}  // namespace deadheat::hive::store
