// The fold against RaceMob's state machine, and the laws of a fold over a set.
//
// The picture of the paper's Figure 4 is lost; the machine below is rebuilt from the prose of
// sections 3.2 to 3.4 and 4, edge by edge, with the one correction that an order counts only if no
// happens-before edge lay between.
#include "lib/model/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/random.h"
#include "lib/model/enum_names.h"
#include "lib/model/random_findings.h"

namespace deadheat::model {
namespace {

// What an instance of the program reports: one letter of the machine's alphabet.
struct Report {
  Outcome result;
  Order order = Order::kUnknown;
  Ordered ordered = Ordered::kUnknown;
  bool maximum = false;
};

// The hive's machine, one transition at a time. It remembers which orders were executed, since the
// paper's first way to True Race needs both; the correction makes either of them sufficient, but
// the machine is kept as it is written.
class HiveMachine {
 public:
  void receive(const Report& report) {
    switch (report.result) {
      case Outcome::kRace:
        if (report.ordered == Ordered::kYes) return no_race();  // the correction
        if (report.ordered != Ordered::kNo) return;  // the correction: such an order does not count
        if (report.order == Order::kPrimary) primary_executed_ = true;
        if (report.order == Order::kAlternate) alternate_executed_ = true;
        if (primary_executed_ && alternate_executed_) state_ = VerdictState::kTrueRace;
        state_ = VerdictState::kTrueRace;  // either order with no intervening happens-before
        return;
      case Outcome::kNoRace:
        return no_race();
      case Outcome::kTimeout:
        if (report.maximum) no_race();  // below it the site tries again with more patience
        return;
      case Outcome::kDivergedInfeasible:
        if (report.order != Order::kUnknown) no_race();  // ours: NoRace for that order
        return;
      case Outcome::kNotSeen:
      case Outcome::kDeadlock:
      case Outcome::kDivergedUncontrolled:
      case Outcome::kCount:
        return;
    }
  }
  VerdictState state() const { return state_; }

 private:
  void no_race() {
    if (state_ == VerdictState::kUnknown)
      state_ = VerdictState::kLikelyFalsePositive;  // True Race is definite
  }
  VerdictState state_ = VerdictState::kUnknown;
  bool primary_executed_ = false, alternate_executed_ = false;
};

std::vector<Report> alphabet() {
  std::vector<Report> letters;
  for (const Order order : {Order::kUnknown, Order::kPrimary, Order::kAlternate}) {
    for (const Ordered ordered : {Ordered::kUnknown, Ordered::kNo, Ordered::kYes})
      letters.push_back({Outcome::kRace, order, ordered, false});
    letters.push_back({Outcome::kDivergedInfeasible, order, Ordered::kUnknown, false});
  }
  letters.push_back({Outcome::kNoRace});
  letters.push_back({Outcome::kTimeout});
  letters.push_back({Outcome::kTimeout, Order::kPrimary, Ordered::kUnknown, true});
  letters.push_back({Outcome::kNotSeen});
  letters.push_back({Outcome::kDeadlock});
  letters.push_back({Outcome::kDivergedUncontrolled});
  return letters;
}

Evidence evidence_of(const Report& report, size_t number) {
  Evidence e;
  e.id = "run/" + std::to_string(number);
  e.execution = "run" + std::to_string(number);
  e.outcome = report.result;
  e.order = report.order;
  e.ordered = report.ordered;
  e.maximum_timeout = report.maximum;
  return e;
}

void expect_equal(const std::vector<Report>& sequence) {
  HiveMachine machine;
  std::vector<Evidence> evidence;
  for (const Report& report : sequence) {
    machine.receive(report);
    evidence.push_back(evidence_of(report, evidence.size()));
  }
  const VerdictState folded = fold(evidence).state;
  if (folded == machine.state()) return;
  std::string text;
  for (const Report& r : sequence)
    text += std::string(name(r.result)) + "/" + std::string(name(r.order)) + "/" +
            std::string(name(r.ordered)) + " ";
  ADD_FAILURE() << "machine " << name(machine.state()) << ", fold " << name(folded) << " after "
                << text;
}

// Every sequence of these letters up to that length; returns how many there were.
size_t expect_equal_for_all(const std::vector<Report>& letters, size_t longest) {
  size_t sequences = 0;
  for (size_t length = 0; length <= longest && !::testing::Test::HasFailure(); ++length) {
    std::vector<size_t> digits(length, 0);
    for (bool more = true; more;) {
      std::vector<Report> sequence;
      for (const size_t digit : digits) sequence.push_back(letters[digit]);
      expect_equal(sequence);
      ++sequences;
      more = false;
      for (size_t i = 0; i < length && !more; ++i) {
        digits[i] = (digits[i] + 1) % letters.size();
        more = digits[i] != 0;
      }
    }
  }
  return sequences;
}

TEST(Verdict, EqualsTheMachineForEverySequenceOfFour) {
  const std::vector<Report> letters = alphabet();
  ASSERT_EQ(letters.size(), 18U);
  EXPECT_EQ(expect_equal_for_all(letters, 4), 1U + 18 + 324 + 5832 + 104976);
}

TEST(Verdict, EqualsTheMachineForEverySequenceOfSevenOfThePapersResults) {
  // Race with and without an edge, NoRace, Timeout below and at the maximum.
  std::vector<Report> letters;
  for (const Report& letter : alphabet()) {
    const bool race = letter.result == Outcome::kRace && letter.order == Order::kPrimary &&
                      letter.ordered != Ordered::kUnknown;
    if (race || letter.result == Outcome::kNoRace || letter.result == Outcome::kTimeout)
      letters.push_back(letter);
  }
  ASSERT_EQ(letters.size(), 5U);
  EXPECT_EQ(expect_equal_for_all(letters, 7), 1U + 5 + 25 + 125 + 625 + 3125 + 15625 + 78125);
}

TEST(Verdict, EqualsTheMachineForRandomLongSequences) {
  const std::vector<Report> letters = alphabet();
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    // Few letters at a time, or nearly every long sequence is a True race.
    std::vector<Report> few;
    for (uint64_t n = random.between(1, 4); n > 0; --n)
      few.push_back(letters[random.below(letters.size())]);
    std::vector<Report> sequence;
    for (uint64_t n = random.between(5, 60); n > 0; --n)
      sequence.push_back(few[random.below(few.size())]);
    expect_equal(sequence);
    if (HasFailure()) return;
  }
}

Evidence race(std::string id, Ordered ordered, Proof proof = Proof::kNone) {
  Evidence e;
  e.id = std::move(id);
  e.execution = e.id;
  e.outcome = Outcome::kRace;
  e.proof = proof;
  e.ordered = ordered;
  return e;
}

Evidence result(std::string id, Outcome outcome) {
  Evidence e;
  e.id = std::move(id);
  e.execution = e.id;
  e.outcome = outcome;
  return e;
}

Evidence withdrawal(std::string id, std::string of) {
  Evidence e;
  e.id = std::move(id);
  e.withdraws = std::move(of);
  return e;
}

std::vector<Evidence> random_set(uint64_t seed, Random& random) {
  RandomFindings generator(seed);
  std::vector<Evidence> all;
  for (uint64_t n = random.between(0, 12); n > 0; --n) {
    Evidence e =
        generator.evidence(2, "id" + std::to_string(random.below(10)));  // ids collide on purpose
    e.withdraws = random.chance(0.2) ? "id" + std::to_string(random.below(10)) : "";
    all.push_back(std::move(e));
  }
  return all;
}

TEST(Verdict, DoesNotDependOnOrderNorOnDoubles) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Evidence> all = random_set(seed, random);
    const auto kind =
        static_cast<CandidateKind>(random.below(static_cast<uint64_t>(CandidateKind::kCount)));
    const Verdict once = fold(all, kind);
    for (size_t n = all.size(); n > 0; --n) {
      if (random.chance(0.5)) all.push_back(all[random.below(n)]);
    }
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
      ASSERT_EQ(fold(all, kind), once);
    }
  }
}

TEST(Verdict, WithdrawnIsAsIfNeverAdded) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::vector<Evidence> all = random_set(seed, random);
    Evidence extra = RandomFindings(seed + 1).evidence(2, "extra");
    extra.withdraws.clear();
    std::vector<Evidence> late = all, early = all;
    late.push_back(extra);
    late.push_back(withdrawal("w", "extra"));
    early.insert(early.begin(), {withdrawal("w", "extra"), extra});
    Verdict expected = fold(all);
    ++expected.withdrawn;
    ASSERT_EQ(fold(late), expected);
    ASSERT_EQ(fold(early), expected);
  }
}

TEST(Verdict, NothingIsUnknown) {
  const Verdict verdict = fold(std::vector<Evidence>{});
  EXPECT_EQ(verdict, Verdict{});
}

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
    // The bound it stands for: had a race a chance of 1 - confidence, i clean executions would be
    // rarer than 5%.
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
