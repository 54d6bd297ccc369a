// Findings, jobs, results and verdicts in the store, and its schema.
#include <filesystem>
#include <map>
#include <set>

#include "lib/base/text.h"
#include "lib/hive/store/store_fixture.h"
#include "lib/model/enum_names.h"
#include "lib/model/json.h"

namespace deadheat::hive::store {
namespace {

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

TEST_F(StoreTest, one_credential_cannot_pretend_to_be_the_fleet) {
  push(races(2));
  token("a", Role::kAgent);
  token("b", Role::kAgent);
  store_->settings.most_instances = 3;
  constexpr int64_t kHour = 3'600'000;
  const auto asks = [&](const std::string& who, int instance, int64_t now_ms) {
    api::Poll poll;
    poll.instance = "i" + std::to_string(instance);
    auto answer = store_->poll("shop", {who, false}, poll, now_ms);
    EXPECT_TRUE(answer.ok());
    return answer.ok() && !answer->too_many_instances;
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(asks("a", i, kNoon), i < 3) << i;
  EXPECT_TRUE(asks("a", 2, kNoon)) << "the three go on";
  EXPECT_TRUE(asks("b", 0, kNoon)) << "and others";
  EXPECT_EQ(*store_->fleet_size("shop", kNoon - kHour), 4);
  EXPECT_TRUE(asks("a", 7, kNoon + kHour + 1)) << "the three are gone";
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
  // It has the least confidence, 0.5, so that each job costs 1/(1 - 0.5) = 2 turns.
  EXPECT_NEAR(asked[1], 100, 2);
  EXPECT_NEAR(asked[2], 200, 2);
}

TEST_F(StoreTest, a_claim_or_a_meeting_brings_a_likely_false_positive_back) {
  push(races(4));
  for (const char* who : {"a", "b", "c"}) token(who, Role::kAgent);
  store_->settings.policy.enough_tries = 1000;
  const auto all_against = [&] {
    for (int i = 0; i < 200 && row(1).verdict != "likely_false_positive"; ++i)
      for (const char* who : {"a", "b", "c"})
        for (const api::Job& job : poll(who).jobs)
          say(who, job, job.number == 1 ? Outcome::kNoRace : Outcome::kNotSeen);
    return row(1).verdict == "likely_false_positive";
  };
  ASSERT_TRUE(all_against());
  // The sites met: earlier answers without a second access say little now.
  for (bool told = false; !told;)
    for (const api::Job& job : poll("a").jobs) {
      api::Results results;
      results.instance = "i";
      api::JobResult& result = results.results.emplace_back();
      result.id = result.job = job.id;
      result.number = job.number;
      told = result.promoted = job.number == 1;
      ASSERT_TRUE(store_->add_results("shop", {"a", false}, results, kNoon).ok());
    }
  EXPECT_EQ(row(1).verdict, "unknown");
  for (bool raced = false; !raced;)
    for (const api::Job& job : poll("b").jobs) {
      raced = job.number == 1;
      say("b", job, raced ? Outcome::kRace : Outcome::kNotSeen);
    }
  EXPECT_EQ(row(1).verdict, "true_race");
  EXPECT_EQ(row(1).basis, "claimed");
}

TEST_F(StoreTest, who_met_a_timeout_goes_on_with_the_race) {
  push(races(50));
  token("a", Role::kAgent);
  const api::Job first = poll("a").jobs.at(0);
  say("a", first, Outcome::kTimeout);
  uint32_t most_us = 0;
  for (int i = 0; i < 3; ++i) {
    const api::Job next = poll("a").jobs.at(0);
    EXPECT_EQ(next.number, first.number);
    most_us = std::max(most_us, next.tau_us);
    say("a", next, Outcome::kTimeout);
  }
  EXPECT_GT(most_us, first.tau_us);
  // Not for ever: it is four turns before the others now.
  say("a", poll("a").jobs.at(0), Outcome::kTimeout);
  EXPECT_NE(poll("a").jobs.at(0).number, first.number);
}

TEST_F(StoreTest, text_with_zeroes_and_broken_characters_is_kept) {
  model::FindingsFile file;
  file.findings.push_back(race_at(1, std::string("a\0b\xff", 4)));
  file.findings.push_back(race_at(2, std::string(999, 'x') + "\xc3\xa4\xc3\xa4"));
  EXPECT_EQ(push(file).added, 2U);
  EXPECT_EQ(store_->races("shop", {})->total, 2U);
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
  query.text = "SERVER.C:1";
  query.sort = "last_seen";
  EXPECT_EQ(store_->races("shop", query)->total, 1U);
  query = {};
  query.sort = "number; DROP TABLE races";
  EXPECT_EQ(store_->races("shop", query)->total, 1U);
}

TEST_F(StoreTest, states_have_history_and_what_happens_again_is_open) {
  push(races(2));
  token("a", Role::kAgent);
  const api::Job job = poll("a").jobs.at(0);
  api::Edit fixed;
  fixed.state = "fixed";
  fixed.comment = "by the lock";
  fixed.owner = "ann";
  EXPECT_TRUE(*store_->edit("shop", job.number, {"dev", false}, fixed, kNoon + 1));
  EXPECT_FALSE(*store_->edit("shop", 99, {"dev", false}, fixed, kNoon + 1));
  EXPECT_EQ(row(job.number).state, "fixed");
  EXPECT_EQ(row(job.number).owner, "ann");
  EXPECT_EQ(poll("a", "i", {job.id}).drop, std::vector{job.id}) << "a fixed race is not asked for";
  EXPECT_EQ(store_->trend("shop", 10)->back().open, 1);
  EXPECT_EQ(say("a", job, Outcome::kNoRace).accepted, 1U);
  EXPECT_EQ(row(job.number).state, "fixed");
  EXPECT_EQ(say("a", job, Outcome::kRace, "late", kNoon + 2).accepted, 1U);
  EXPECT_EQ(row(job.number).state, "open");
  const TrendPoint last = store_->trend("shop", 10)->back();
  EXPECT_EQ(last.open, 2);
  EXPECT_EQ(last.true_races, 1);
  std::vector<std::string> said;
  auto race = store_->race("shop", job.number);
  for (const RaceEvent& event : (*race)->history)
    said.push_back(event.what + " " + event.detail + " " + event.who);
  EXPECT_EQ(said,
            (std::vector<std::string>{
                "found  dev", "owner ann dev", "state fixed dev", "comment by the lock dev",
                "state open: it happened again (reopened) a", "verdict true_race claimed by 1 "}));
}

TEST_F(StoreTest, a_suppression_ends) {
  push(races(1));
  api::Edit edit;
  edit.state = "suppressed";
  edit.reason = "next release";
  edit.days = 1;
  EXPECT_TRUE(*store_->edit("shop", 1, {"dev", false}, edit, kNoon));
  EXPECT_TRUE(poll("dev", "i", {}, kNoon + 1000).jobs.empty());
  EXPECT_EQ((*store_->race("shop", 1))->reason, "next release");
  EXPECT_EQ(poll("dev", "i", {}, kNoon + 24 * 3600 * 1000).jobs.size(), 1U);
  EXPECT_EQ(row(1).state, "open");
}

TEST_F(StoreTest, what_says_nothing_changes_no_verdict_and_is_shown) {
  push(races(1));
  token("a", Role::kAgent);
  say("a", poll("a").jobs.at(0), Outcome::kNotSeen);
  auto race = store_->race("shop", 1);
  EXPECT_EQ((*race)->finding.evidence.size(), 1U);
  EXPECT_EQ((*race)->over_time.size(), 1U);
  EXPECT_EQ((*race)->history.size(), 1U);
}

TEST(Schema, an_old_database_is_brought_up_to_date_and_a_new_one_refused) {
  auto connection = open_connection(fresh_database(), true);
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(migrate_to(**connection, 1).ok());
  EXPECT_EQ(*schema_version(**connection), 1);
  ASSERT_TRUE(
      (*connection)->run("INSERT INTO programs VALUES('shop',1,1,$1)", {int64_t{kNoon}}).ok());
  const char* kOld =
      "INSERT INTO history VALUES('shop',1,1,5,'found','dev');"
      "INSERT INTO history VALUES('shop',1,2,6,'verdict','true_race claimed by 1');"
      "INSERT INTO history VALUES('shop',1,3,7,'verdict','true_race observed');"
      "INSERT INTO history VALUES('shop',1,4,8,'verdict','unknown');"
      "INSERT INTO history VALUES('shop',1,5,9,'verdict','true_race observed');";
  ASSERT_TRUE((*connection)->script(kOld).ok());
  EXPECT_EQ(*migrate(**connection), 1);
  EXPECT_EQ(*schema_version(**connection), newest_schema());
  ASSERT_TRUE((*connection)->script("INSERT INTO hive_schema VALUES(1000)").ok());
  EXPECT_FALSE(migrate(**connection).ok());
  Store store(std::move(connection).value(), 1);
  EXPECT_EQ(*store.programs(), std::vector<std::string>{"shop"});
  std::vector<int64_t> true_races;
  const auto trend = store.trend("shop", 100);
  for (const TrendPoint& point : trend.value()) true_races.push_back(point.true_races);
  EXPECT_EQ(true_races, (std::vector<int64_t>{0, 1, 1, 0, 1}));
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

}  // namespace
}  // namespace deadheat::hive::store
