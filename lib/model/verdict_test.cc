// Compares the fold with RaceMob's state machine, and checks the laws of a fold over a set.
//
// The drawing of the paper's Figure 4 is not available; the machine below is rebuilt from the prose
// of sections 3.2 to 3.4 and 4, edge by edge, with the one correction that an order counts only if
// no happens-before edge ordered the accesses.
#include "lib/model/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/random.h"
#include "lib/model/enum_names.h"
#include "lib/model/random_findings.h"
#include "lib/model/verdict_fixture.h"

namespace deadheat::model {
namespace {

// One report from an instance of the program: one letter of the machine's alphabet.
struct Report {
  Outcome result;
  Order order = Order::kUnknown;
  Ordered ordered = Ordered::kUnknown;
  bool maximum = false;
};

// The hive's machine, one transition at a time. It remembers which orders were executed, since the
// paper's first path to True Race needs both. The correction makes either of them sufficient, but
// the machine follows the paper.
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

// Tries every sequence of these letters up to that length; returns the number of sequences.
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
    // Few letters at a time; otherwise nearly every long sequence is a True race.
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

}  // namespace
}  // namespace deadheat::model
