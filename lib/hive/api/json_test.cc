#include "lib/hive/api/json.h"

#include <gtest/gtest.h>

namespace deadheat::hive::api {
namespace {

model::Candidate a_candidate() {
  model::Candidate candidate;
  candidate.roles.resize(2);
  for (model::Role& role : candidate.roles) {
    role.site.function = "work()";
    role.site.file = "server.c";
    role.site.line = 5;
    role.access = model::AccessKind::kWrite;
  }
  candidate.roles[0].name = "first";
  candidate.roles[1].name = "second";
  return candidate;
}

TEST(HiveApi, messages_survive_their_way) {
  Poll poll;
  poll.instance = "9f";
  poll.build_id = "ab12";
  poll.version = "2.1 \"beta\"";
  poll.holding = {"j1", "j2"};
  poll.room = 3;
  poll.wait_s = 20;
  poll.spent_ppm = 1200;
  poll.dropped = 7;
  ASSERT_TRUE(decode_poll(encode(poll)).ok());
  EXPECT_EQ(*decode_poll(encode(poll)), poll);

  PollAnswer answer;
  Job& job = answer.jobs.emplace_back();
  job.id = "j3";
  job.number = 12;
  job.candidate = a_candidate();
  job.order = model::Order::kAlternate;
  job.tau_us = 51000;
  job.lease_s = 600;
  job.promoted = job.last_tau = true;
  answer.drop = {"j1"};
  auto again = decode_poll_answer(encode(answer));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, answer);

  Results results;
  results.instance = "9f";
  JobResult& result = results.results.emplace_back();
  result.id = "r1";
  result.job = "j3";
  result.number = 12;
  result.execution = "e1";
  result.outcome = model::Outcome::kRace;
  result.proof = model::Proof::kCoEnabled;
  result.order = model::Order::kAlternate;
  result.ordered = model::Ordered::kNo;
  result.consequence = model::ConsequenceKind::kCrash;
  result.promoted = true;
  result.tau_us = 51000;
  result.waited_us = 44;
  auto same = decode_results(encode(results));
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(*same, results);

  RaceList list;
  list.total = 100000;
  RaceRow& row = list.races.emplace_back();
  row.number = 3;
  row.id = "DH-1";
  row.title = "<script>alert(1)</script>";
  row.verdict = "true_race";
  row.confidence = 0.5;
  row.claimed_by = 2;
  auto listed = decode_race_list(encode(list));
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  EXPECT_EQ(*listed, list);
}

TEST(HiveApi, unknown_fields_are_ignored) {
  const auto poll = decode_poll(R"({"instance":"a","colour":{"red":[1,2]}})");
  ASSERT_TRUE(poll.ok());
  EXPECT_EQ(poll.value().instance, "a");
}

TEST(HiveApi, what_a_person_says_about_a_race) {
  auto edit =
      decode_edit(R"({"comment":"c","owner":"","state":"suppressed","reason":"r","days":2.5})");
  ASSERT_TRUE(edit.ok()) << edit.error().message;
  EXPECT_EQ(*edit, (Edit{"c", "", "suppressed", "r", 2.5}));
  for (const char* text :
       {"{}", R"({"state":"gone"})", R"({"state":"suppressed"})", R"({"comment":5})",
        R"({"state":"open","days":-1})", R"({"state":"open","days":1e300})"})
    EXPECT_FALSE(decode_edit(text).ok()) << text;
}

TEST(HiveApi, hostile_messages_are_refused) {
  const std::string deep = R"({"instance":"a","x":)" + std::string(100000, '[');
  const std::string wide = R"({"instance":"a","x":[)" + std::string(200000, ',') + "]}";
  const std::string large = R"({"instance":")" + std::string(2 << 20, 'x') + "\"}";
  const std::string name = R"({"instance":")" + std::string(kMostText + 1, 'x') + "\"}";
  for (const std::string& text :
       {std::string(), std::string("["), std::string("{}"), std::string("null"),
        std::string(R"({"instance":5})"), std::string(R"({"instance":"a","room":-1})"),
        std::string(R"({"instance":"a","room":1e99})"),
        std::string(R"({"instance":"a","holding":[[]]})"), std::string("{\"instance\":\"\xff\"}"),
        deep, wide, large, name})
    EXPECT_FALSE(decode_poll(text).ok()) << text.substr(0, 60);
  EXPECT_FALSE(decode_results(R"({"instance":"a","results":[{"id":"x","outcome":"maybe"}]})").ok());
  EXPECT_FALSE(decode_results(R"({"instance":"a","results":[{"outcome":"race"}]})").ok());
  EXPECT_FALSE(decode_poll_answer(R"({"jobs":[{"id":"x"}]})").ok());
}

}  // namespace
}  // namespace deadheat::hive::api
