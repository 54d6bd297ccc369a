#include <gtest/gtest.h>

#include <set>

#include "lib/hive/crowd/assign.h"
#include "lib/hive/crowd/judge.h"

namespace deadheat::hive::crowd {
namespace {

using model::CandidateKind;
using model::Outcome;
using model::VerdictState;

Said said(const std::string& who, Outcome outcome, bool trusted = false,
          const std::string& execution = "1") {
  Said one;
  one.credential = who;
  one.trusted = trusted;
  one.evidence.id = execution;
  one.evidence.execution = execution;
  one.evidence.outcome = outcome;
  if (outcome == Outcome::kRace) one.evidence.proof = model::Proof::kCoEnabled;
  return one;
}

TEST(Judge, a_crowd_claims_and_only_trust_proves) {
  std::vector<Said> all;
  for (int i = 0; i < 1000; ++i) all.push_back(said("agent" + std::to_string(i), Outcome::kRace));
  Judgement judged = judge(all, CandidateKind::kDataRace);
  EXPECT_EQ(judged.verdict.state, VerdictState::kTrueRace);
  EXPECT_EQ(judged.verdict.basis, model::Basis::kClaimed);
  EXPECT_FALSE(judged.proved);
  EXPECT_EQ(judged.claimed_by, 1000U);
  EXPECT_LT(judged.verdict.confidence, 1);
  all.push_back(said("ci", Outcome::kRace, true));
  judged = judge(all, CandidateKind::kDataRace);
  EXPECT_TRUE(judged.proved);
  EXPECT_EQ(judged.verdict.basis, model::Basis::kMadeToHappen);
}

TEST(Judge, one_credential_is_one_voice) {
  std::vector<Said> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(said("loud", Outcome::kRace, false, std::to_string(i)));
  const Judgement judged = judge(all, CandidateKind::kDataRace);
  EXPECT_EQ(judged.claimed_by, 1U);
  EXPECT_DOUBLE_EQ(judged.verdict.confidence, 0.5);
}

Said ordered(const std::string& who, const std::string& execution = "1") {
  Said one = said(who, Outcome::kNoRace, false, execution);
  one.evidence.ordered = model::Ordered::kYes;
  return one;
}

TEST(Judge, likely_false_needs_several_credentials_or_a_trusted_one) {
  std::vector<Said> all;
  for (int i = 0; i < 100; ++i) all.push_back(ordered("loud", std::to_string(i)));
  all.push_back(ordered("other"));
  EXPECT_EQ(judge(all, CandidateKind::kDataRace).verdict.state, VerdictState::kUnknown);
  all.push_back(ordered("third"));
  const Judgement judged = judge(all, CandidateKind::kDataRace);
  EXPECT_EQ(judged.verdict.state, VerdictState::kLikelyFalsePositive);
  EXPECT_EQ(judged.against, 3U);
  EXPECT_DOUBLE_EQ(judged.weight, 4.5 + 1 + 1) << "repeating counts half, and eight at most";
  EXPECT_DOUBLE_EQ(judged.verdict.confidence, 1 - 3 / 6.5);
  // Eight executions of the loud one count, and one of each other.
  EXPECT_LE(judged.verdict.executions, 10U);
  EXPECT_EQ(judge(std::vector{said("ci", Outcome::kNoRace, true)}, CandidateKind::kDataRace)
                .verdict.state,
            VerdictState::kLikelyFalsePositive);
}

TEST(Judge, three_answers_are_too_few_and_weak_ones_count_less) {
  std::vector<Said> strong, weak;
  for (int i = 0; i < 5; ++i) strong.push_back(ordered("u" + std::to_string(i)));
  EXPECT_EQ(judge(strong, CandidateKind::kDataRace).verdict.state, VerdictState::kUnknown);
  strong.push_back(ordered("u5"));
  EXPECT_EQ(judge(strong, CandidateKind::kDataRace).verdict.state,
            VerdictState::kLikelyFalsePositive);
  EXPECT_DOUBLE_EQ(judge(strong, CandidateKind::kDataRace).verdict.confidence, 0.5);
  for (int i = 0; i < 12; ++i) weak.push_back(said("u" + std::to_string(i), Outcome::kNoRace));
  EXPECT_DOUBLE_EQ(judge(weak, CandidateKind::kDataRace).weight, 6);
  EXPECT_EQ(judge(weak, CandidateKind::kDataRace).verdict.state,
            VerdictState::kLikelyFalsePositive);
  // The sites met elsewhere: that no second access came here says little.
  EXPECT_DOUBLE_EQ(judge(weak, CandidateKind::kDataRace, true).weight, 1.5);
  EXPECT_EQ(judge(weak, CandidateKind::kDataRace, true).verdict.state, VerdictState::kUnknown);
  EXPECT_DOUBLE_EQ(judge(strong, CandidateKind::kDataRace, true).weight, 6);
  strong.push_back(said("one", Outcome::kRace));
  const Judgement claimed = judge(strong, CandidateKind::kDataRace, true);
  EXPECT_EQ(claimed.verdict.state, VerdictState::kTrueRace);
  EXPECT_EQ(claimed.verdict.basis, model::Basis::kClaimed);
}

TEST(Judge, nobody_hides_a_race) {
  std::vector<Said> all = {said("honest", Outcome::kRace)};
  for (int i = 0; i < 1000; ++i) all.push_back(said("liar" + std::to_string(i), Outcome::kNoRace));
  EXPECT_EQ(judge(all, CandidateKind::kDataRace).verdict.state, VerdictState::kTrueRace);
}

TEST(Judge, ids_of_two_credentials_do_not_clash) {
  const std::vector<Said> all = {said("a", Outcome::kNoRace), said("b", Outcome::kRace)};
  const Judgement judged = judge(all, CandidateKind::kDataRace);
  EXPECT_EQ(judged.verdict.conflicts, 0U);
  EXPECT_EQ(judged.verdict.races, 1U);
}

TEST(Judge, harm_by_repetition_needs_more_than_a_number) {
  Said crash = said("a", Outcome::kRace);
  crash.evidence.consequence.kind = model::ConsequenceKind::kCrash;
  crash.evidence.repetitions = 50;  // its word
  EXPECT_EQ(judge(std::vector{crash}, CandidateKind::kDataRace).verdict.consequence.kind,
            model::ConsequenceKind::kNone);
}

TEST(Assign, tau_grows_and_is_then_abandoned) {
  const Policy policy;
  Tried tried;
  std::vector<uint32_t> taus;
  Random random(1);
  for (int i = 0; i < 20 && !tried.all_done(); ++i) {
    const std::vector<Offer> offers = {{.number = 1}};
    const auto choice = choose(offers, std::vector{tried}, policy, random);
    ASSERT_TRUE(choice);
    if (choice->order == model::Order::kPrimary) taus.push_back(choice->tau_us);
    EXPECT_EQ(choice->last_tau, choice->tau_us == policy.most_us);
    tried = after(tried, choice->order, choice->tau_us, Outcome::kTimeout, policy);
  }
  EXPECT_TRUE(tried.all_done());
  EXPECT_EQ(taus, (std::vector<uint32_t>{1000, 51000, 101000, 151000, 200000}));
  EXPECT_FALSE(choose(std::vector<Offer>{{.number = 1}}, std::vector{tried}, policy, random));
}

TEST(Assign, both_orders_are_asked_for) {
  const Policy policy;
  Random random(2);
  Tried tried;
  std::set<model::Order> asked;
  for (int i = 0; i < 2; ++i) {
    const auto choice =
        choose(std::vector<Offer>{{.number = 1}}, std::vector{tried}, policy, random);
    ASSERT_TRUE(choice);
    asked.insert(choice->order);
    tried = after(tried, choice->order, choice->tau_us, Outcome::kNoRace, policy);
  }
  EXPECT_EQ(asked.size(), 2U);
}

TEST(Assign, proved_races_are_not_given_out) {
  Random random(3);
  const std::vector<Offer> offers = {{.number = 1, .proved = true}, {.number = 2}};
  const auto choice = choose(offers, std::vector<Tried>(2), Policy(), random);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->index, 1U);
}

TEST(Assign, a_claim_is_given_out_often_until_many_answered) {
  const Policy policy;
  Offer offer;
  EXPECT_EQ(stride(offer, policy), 1);
  offer.state = VerdictState::kTrueRace;
  EXPECT_EQ(stride(offer, policy), policy.claimed);
  offer.answered[0] = offer.answered[1] = 20;
  EXPECT_EQ(stride(offer, policy), 1) << "who claims everything does not keep the fleet busy";
}

TEST(Assign, a_likely_false_positive_is_given_out_at_the_rate_that_its_confidence_leaves) {
  const Policy policy;
  Offer offer;
  offer.state = VerdictState::kLikelyFalsePositive;
  EXPECT_EQ(stride(offer, policy), 1) << "one trusted NoRace is no confidence";
  offer.confidence = 0.5;
  EXPECT_DOUBLE_EQ(stride(offer, policy), 2);
  offer.promoted = true;
  EXPECT_DOUBLE_EQ(stride(offer, policy), 2 * policy.promoted);
  offer.promoted = false;
  offer.confidence = 1;
  EXPECT_EQ(stride(offer, policy), policy.rare) << "never not at all";
}

TEST(Assign, outliers_are_left_alone) {
  const Load average = {1000, 10, 1};
  EXPECT_FALSE(overloaded({1500, 10, 1}, average));
  EXPECT_TRUE(overloaded({20000, 10, 1}, average));
  EXPECT_TRUE(overloaded({0, 10, 6}, average));
  EXPECT_FALSE(overloaded({0, 1, 1}, average));  // one timeout says nothing
}

}  // namespace
}  // namespace deadheat::hive::crowd
