// What each kind of evidence counts for: proofs, orders, consequences, confidence and texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/model/enum_names.h"
#include "lib/model/verdict.h"
#include "lib/model/verdict_fixture.h"

namespace deadheat::model {
namespace {

TEST(Verdict, LockedPairInBothOrdersIsNoRaceButItsTwinIsARace) {
  for (const Ordered ordered : {Ordered::kYes, Ordered::kNo}) {
    std::vector<Evidence> both = {race("a", ordered), race("b", ordered)};
    both[0].order = Order::kPrimary;
    both[1].order = Order::kAlternate;
    const bool locked = ordered == Ordered::kYes;
    EXPECT_EQ(fold(both).state,
              locked ? VerdictState::kLikelyFalsePositive : VerdictState::kTrueRace);
    EXPECT_EQ(fold(both).no_races, locked ? 2U : 0U);
    EXPECT_EQ(fold(both).races, locked ? 0U : 2U);
  }
}

TEST(Verdict, BothOrdersWithNothingKnownOfEdgesProveNothing) {
  std::vector<Evidence> both = {race("a", Ordered::kUnknown), race("b", Ordered::kUnknown)};
  both[0].order = Order::kPrimary;
  both[1].order = Order::kAlternate;
  EXPECT_EQ(fold(both).state, VerdictState::kUnknown);
  EXPECT_EQ(fold(both).races, 2U);
}

struct ProofCase {
  Proof proof;
  Ordered ordered;
  Schedulable schedulable;
  VerdictState state;
  Basis basis;
};

TEST(Verdict, WhatEachProofIsWorthForADataRace) {
  const auto unknown = VerdictState::kUnknown, yes = VerdictState::kTrueRace,
             no = VerdictState::kLikelyFalsePositive;
  const std::vector<ProofCase> cases = {
      {Proof::kHappensBefore, Ordered::kUnknown, Schedulable::kUnknown, yes, Basis::kObserved},
      {Proof::kHappensBefore, Ordered::kNo, Schedulable::kYes, yes, Basis::kObserved},
      {Proof::kHappensBefore, Ordered::kNo, Schedulable::kNo, unknown,
       Basis::kNone},  // artefact of an earlier race
      {Proof::kHappensBefore, Ordered::kYes, Schedulable::kYes, no, Basis::kNone},
      {Proof::kPartialHappensBefore, Ordered::kUnknown, Schedulable::kYes, unknown, Basis::kNone},
      {Proof::kPartialHappensBefore, Ordered::kNo, Schedulable::kYes, unknown, Basis::kNone},
      {Proof::kPartialHappensBefore, Ordered::kYes, Schedulable::kYes, no, Basis::kNone},
      {Proof::kCoEnabled, Ordered::kUnknown, Schedulable::kUnknown, yes, Basis::kMadeToHappen},
      {Proof::kCoEnabled, Ordered::kUnknown, Schedulable::kNo, yes, Basis::kMadeToHappen},
      {Proof::kCollision, Ordered::kNo, Schedulable::kUnknown, yes, Basis::kMadeToHappen},
      {Proof::kCollision, Ordered::kUnknown, Schedulable::kUnknown, unknown,
       Basis::kNone},  // both may be atomic
      {Proof::kFailedBranch, Ordered::kUnknown, Schedulable::kUnknown, unknown, Basis::kNone},
      {Proof::kFailedBranch, Ordered::kNo, Schedulable::kUnknown, yes, Basis::kMadeToHappen},
      {Proof::kAgentClaim, Ordered::kNo, Schedulable::kUnknown, yes, Basis::kClaimed},
      {Proof::kAgentClaim, Ordered::kUnknown, Schedulable::kUnknown, unknown, Basis::kNone},
      {Proof::kAgentClaim, Ordered::kNo, Schedulable::kNo, unknown, Basis::kNone},
      {Proof::kNone, Ordered::kNo, Schedulable::kUnknown, yes, Basis::kClaimed},
      {Proof::kNone, Ordered::kUnknown, Schedulable::kUnknown, unknown, Basis::kNone},
  };
  for (const ProofCase& c : cases) {
    Evidence e = race("e", c.ordered, c.proof);
    e.schedulable = c.schedulable;
    const Verdict verdict = fold(std::vector<Evidence>{e});
    EXPECT_EQ(verdict.state, c.state)
        << name(c.proof) << " " << name(c.ordered) << " " << name(c.schedulable);
    EXPECT_EQ(verdict.basis, c.basis)
        << name(c.proof) << " " << name(c.ordered) << " " << name(c.schedulable);
  }
}

TEST(Verdict, ACollisionProvesARaceOnlyIfNeitherSideWasAtomic) {
  Evidence e = race("e", Ordered::kUnknown, Proof::kCollision);
  const auto state = [&](AccessKind first, AccessKind second) {
    e.accesses = {Access{}, Access{}};
    e.accesses[0].kind = first;
    e.accesses[1].kind = second;
    return fold(std::vector<Evidence>{e}).state;
  };
  EXPECT_EQ(state(AccessKind::kRead, AccessKind::kWrite), VerdictState::kTrueRace);
  EXPECT_EQ(state(AccessKind::kAtomicRead, AccessKind::kWrite), VerdictState::kUnknown);
  EXPECT_EQ(state(AccessKind::kUnknown, AccessKind::kWrite), VerdictState::kUnknown);
  EXPECT_EQ(state(AccessKind::kRead, AccessKind::kRead), VerdictState::kUnknown);
  e.accesses.clear();
  EXPECT_EQ(fold(std::vector<Evidence>{e}).state, VerdictState::kUnknown);
}

TEST(Verdict, OrdersAreRacesOnlyWhenOneFailsAgain) {
  for (const CandidateKind kind : {CandidateKind::kOrder, CandidateKind::kLoadStore,
                                   CandidateKind::kWaitWakeups, CandidateKind::kWakeupWaits}) {
    const auto judged = [&](const Evidence& e) { return fold(std::vector<Evidence>{e}, kind); };
    Evidence e = race("e", Ordered::kNo, Proof::kFailedBranch);
    EXPECT_EQ(judged(e).state, VerdictState::kUnknown) << name(kind);
    e.consequence = {ConsequenceKind::kCheckerFailed, "file is empty"};
    EXPECT_EQ(judged(e).state, VerdictState::kUnknown) << name(kind) << ": it failed once";
    EXPECT_EQ(judged(e).seen_once, e.consequence) << name(kind);
    e.repetitions = 2;
    EXPECT_EQ(judged(e).state, VerdictState::kTrueRace) << name(kind);
    EXPECT_EQ(judged(e).basis, Basis::kMadeToHappen) << name(kind);
    e.proof = Proof::kAgentClaim;
    EXPECT_EQ(judged(e).basis, Basis::kClaimed) << name(kind);
    e.proof = Proof::kHappensBefore;
    EXPECT_EQ(judged(e).state, VerdictState::kUnknown) << name(kind);
    e.ordered = Ordered::kYes;
    const bool locks = kind == CandidateKind::kOrder;
    EXPECT_EQ(judged(e).state, locks ? VerdictState::kUnknown : VerdictState::kLikelyFalsePositive);
  }
}

TEST(Verdict, AFailureIsTrueAtOnceAndHarmWhenItComesAgain) {
  Evidence e = race("e", Ordered::kUnknown, Proof::kFailedBranch), again = e;
  again.id = again.execution = "again";
  const auto judged = [](const std::vector<Evidence>& all) {
    return fold(all, CandidateKind::kFailure);
  };
  EXPECT_EQ(judged({e}).state, VerdictState::kUnknown) << "nothing failed";
  e.consequence = again.consequence = {ConsequenceKind::kAssertion, "total == expected"};
  EXPECT_EQ(judged({e}).state, VerdictState::kTrueRace);
  EXPECT_EQ(judged({e}).basis, Basis::kMadeToHappen);
  EXPECT_EQ(judged({e}).consequence, Consequence{});
  EXPECT_EQ(judged({e}).seen_once, e.consequence);
  EXPECT_EQ(judged({e, again}).consequence, e.consequence);
  EXPECT_EQ(judged({e, again}).consequence_executions, 2U);
  EXPECT_EQ(judged({e, again, result("no", Outcome::kNotSeen)}).state, VerdictState::kTrueRace)
      << "that another schedule does not fail says nothing";
}

TEST(Verdict, ADeadlockIsAConsequenceAndNotAProof) {
  Evidence e = result("e", Outcome::kDeadlock);
  e.proof = Proof::kFailedBranch;
  e.repetitions = 2;
  const Verdict data_race = fold(std::vector<Evidence>{e});
  EXPECT_EQ(data_race.state, VerdictState::kUnknown);
  EXPECT_EQ(data_race.consequence.kind, ConsequenceKind::kDeadlock);
  EXPECT_EQ(data_race.consequence_basis, Basis::kMadeToHappen);
  EXPECT_EQ(fold(std::vector<Evidence>{e}, CandidateKind::kOrder).state, VerdictState::kTrueRace);
}

Evidence failed_run(std::string id, ConsequenceKind kind, std::string detail,
                    Proof proof = Proof::kCoEnabled) {
  Evidence e = race(std::move(id), Ordered::kNo, proof);
  e.consequence = {kind, std::move(detail)};
  return e;
}

TEST(Verdict, HarmTakesTwoExecutions) {
  const Evidence first = failed_run("a", ConsequenceKind::kHang, "no progress");
  Evidence second = failed_run("b", ConsequenceKind::kHang, "no progress");
  const Verdict once = fold(std::vector{first});
  EXPECT_EQ(once.state, VerdictState::kTrueRace) << "the race is true, its harm is not shown";
  EXPECT_EQ(once.consequence, Consequence{});
  EXPECT_EQ(once.consequence_executions, 0U);
  EXPECT_EQ(once.seen_once, first.consequence);
  EXPECT_EQ(fold(std::vector{first, second}).consequence, first.consequence);
  EXPECT_EQ(fold(std::vector{first, second}).consequence_executions, 2U);
  EXPECT_EQ(fold(std::vector{first, second}).seen_once, Consequence{});
  second.execution = first.execution;
  EXPECT_EQ(fold(std::vector{first, second}).consequence, Consequence{}) << "one execution, twice";
  second.repetitions = 3;
  EXPECT_EQ(fold(std::vector{first, second}).consequence_executions, 3U);
  const Evidence other = failed_run("c", ConsequenceKind::kCrash, "SIGSEGV");
  EXPECT_EQ(fold(std::vector{first, other}).consequence, Consequence{}) << "each kind by itself";
  EXPECT_EQ(fold(std::vector{first, other}).seen_once, other.consequence);
}

TEST(Verdict, WhatWasSeenOnceIsShownOnlyIfItIsWorseThanTheHarm) {
  const std::vector<Evidence> all = {failed_run("a", ConsequenceKind::kAssertion, "sum"),
                                     failed_run("b", ConsequenceKind::kAssertion, "sum"),
                                     failed_run("c", ConsequenceKind::kOutputDiffers, "a line"),
                                     failed_run("d", ConsequenceKind::kCrash, "SIGSEGV")};
  EXPECT_EQ(fold(all).consequence, all[0].consequence);
  EXPECT_EQ(fold(all).seen_once, all[3].consequence);
  EXPECT_EQ(fold(std::span(all).first(3)).seen_once, Consequence{});
}

TEST(Verdict, KeepsTheWorstConsequenceOfWhatHappened) {
  const auto twice = [](Evidence e) {
    e.repetitions = 2;
    return e;
  };
  const Evidence mild = twice(failed_run("a", ConsequenceKind::kOutputDiffers, "one line")),
                 severe = twice(failed_run("b", ConsequenceKind::kCrash, "SIGSEGV")),
                 claimed =
                     twice(failed_run("c", ConsequenceKind::kCrash, "SIGABRT", Proof::kAgentClaim));
  Evidence elsewhere = twice(failed_run("d", ConsequenceKind::kCrash, "other"));
  elsewhere.outcome = Outcome::kNoRace;  // it crashed, but not for this race
  EXPECT_EQ(fold(std::vector{mild, elsewhere}).consequence, mild.consequence);
  EXPECT_EQ(fold(std::vector{mild, claimed}).consequence, claimed.consequence);
  EXPECT_EQ(fold(std::vector{mild, claimed}).consequence_basis, Basis::kClaimed);
  EXPECT_EQ(fold(std::vector{claimed, severe}).consequence, severe.consequence);
  EXPECT_EQ(fold(std::vector{claimed, severe}).consequence_basis, Basis::kMadeToHappen);
}

TEST(Verdict, ConfidenceIsTheRuleOfThreeOverDistinctExecutions) {
  std::vector<Evidence> all;
  for (int i = 1; i <= 300; ++i) {
    all.push_back(result("n" + std::to_string(i), Outcome::kNoRace));
    const double expected = i <= 3 ? 0 : 1 - 3.0 / i;
    ASSERT_DOUBLE_EQ(fold(all).confidence, expected);
    // The meaning of the bound: if a race had a chance of 1 - confidence, i clean executions would
    // have a probability below 5%.
    if (i > 3) {
      ASSERT_LE(std::pow(expected, i), 0.05);
    }
  }
  for (Evidence& e : all) e.execution = "the same run";
  EXPECT_EQ(fold(all).confidence, 0);
  EXPECT_EQ(fold(all).executions, 1U);
}

TEST(Verdict, WordsGrowWithSourcesAndNeverBecomeProof) {
  std::vector<Evidence> all;
  double last = 0;
  for (int i = 0; i < 20; ++i) {
    all.push_back(race("c" + std::to_string(i), Ordered::kNo, Proof::kAgentClaim));
    all.back().source = "agent" + std::to_string(i);
    const Verdict verdict = fold(all);
    EXPECT_EQ(verdict.basis, Basis::kClaimed);
    EXPECT_GE(verdict.confidence, last);
    EXPECT_LT(verdict.confidence, 1);
    last = verdict.confidence;
  }
  EXPECT_GT(last, 0.99);
  for (Evidence& e : all) e.source = "agent0";
  EXPECT_DOUBLE_EQ(fold(all).confidence, 0.5);
  all.push_back(race("o", Ordered::kNo, Proof::kHappensBefore));
  EXPECT_EQ(fold(all).basis, Basis::kObserved);
  all.push_back(race("p", Ordered::kNo, Proof::kCoEnabled));
  EXPECT_EQ(fold(all).basis, Basis::kMadeToHappen);
  EXPECT_EQ(fold(all).confidence, 1);
}

TEST(Verdict, OneIdWithTwoContentsIsOneConflict) {
  const Evidence yes = race("e", Ordered::kNo, Proof::kCoEnabled),
                 no = result("e", Outcome::kNoRace);
  const Verdict verdict = fold(std::vector{yes, no});
  EXPECT_EQ(verdict.conflicts, 1U);
  EXPECT_EQ(verdict, fold(std::vector{no, yes, no}));
  EXPECT_EQ(verdict.races + verdict.no_races, 1U);
}

TEST(Verdict, AWithdrawalIsForGood) {
  const Evidence e = race("e", Ordered::kNo, Proof::kCoEnabled);
  const Verdict verdict = fold(std::vector{e, withdrawal("w", "e"), withdrawal("x", "w")});
  EXPECT_EQ(verdict.state, VerdictState::kUnknown);
  EXPECT_EQ(verdict.withdrawn, 1U);
}

TEST(Verdict, CountsWhatMovesNothing) {
  const std::vector<Evidence> all = {result("a", Outcome::kTimeout), result("b", Outcome::kNotSeen),
                                     result("c", Outcome::kDivergedUncontrolled),
                                     result("d", Outcome::kDivergedInfeasible)};
  const Verdict verdict = fold(all);
  EXPECT_EQ(verdict.state, VerdictState::kUnknown);
  EXPECT_EQ(verdict.timeouts, 1U);
  EXPECT_EQ(verdict.not_seen, 1U);
  EXPECT_EQ(verdict.diverged, 2U);
  EXPECT_EQ(verdict.executions, 0U);
}

}  // namespace
}  // namespace deadheat::model
