#include "lib/process/trials/comparison.h"

#include <gtest/gtest.h>

namespace deadheat::process::trials {
namespace {

using model::ConsequenceKind;

const std::vector<judge::Difference> kBroken = {
    {{ConsequenceKind::kExitStatus, "exit status 1"}, ""}};
const std::vector<judge::Difference> kOther = {{{ConsequenceKind::kCrash, "SIGSEGV"}, ""}};

races::Branch flip() {
  races::Branch branch;
  branch.change = races::BranchChange::kFlip;
  branch.order = {9, 4};
  return branch;
}

// Runs of both orders: '+' broke so, 'o' broke in another way, '.' did not, '?' went its own way.
Comparison after(const races::Branch& branch, bool undisturbed, const std::string& changed,
                 const std::string& recorded,
                 const std::vector<judge::Difference>& broken = kBroken) {
  Comparison comparison(branch, broken, undisturbed);
  const auto what = [&](char run) {
    return run == '+' ? broken : run == 'o' ? kOther : std::vector<judge::Difference>{};
  };
  for (const char run : changed) comparison.add_changed(run != '?', what(run));
  for (const char run : recorded) comparison.add_recorded(run != '?', what(run));
  return comparison;
}

TEST(Comparison, ProofIsNearlyEachTimeAndNeverAsRecorded) {
  EXPECT_TRUE(after(flip(), false, "+++++++", ".......").is_proof());
  EXPECT_TRUE(after(flip(), false, "+++.+++", ".......").is_proof());
  EXPECT_FALSE(after(flip(), false, "++++++", ".......").is_proof()) << "one is still to come";
  EXPECT_FALSE(after(flip(), false, "+++++++", "......").is_proof());
  EXPECT_TRUE(after(flip(), false, "++o.+++", ".......").is_refuted());
  EXPECT_TRUE(after(flip(), false, "?+?++++", ".......").is_refuted());
  EXPECT_TRUE(after(flip(), false, "", "+").is_refuted());
  EXPECT_TRUE(after(flip(), false, "", "+").fails_as_recorded());
  EXPECT_TRUE(after(flip(), false, "+++++++", "?..?...").is_proof());
  EXPECT_TRUE(after(flip(), false, "+++++++", "?.??...").is_refuted());
}

TEST(Comparison, EachThingThatBrokeIsCountedByItself) {
  const std::vector<judge::Difference> both = {kBroken[0], kOther[0]};
  Comparison comparison(flip(), both, false);
  for (int run = 0; run < Comparison::kRuns; run++) {
    comparison.add_changed(true, both);
    comparison.add_recorded(true, run == 0 ? kOther : std::vector<judge::Difference>{});
  }
  EXPECT_TRUE(comparison.is_proof()) << "the exit status comes with the changed order alone";
  ASSERT_EQ(comparison.differences().size(), 1u);
  EXPECT_EQ(comparison.differences()[0].consequence, kBroken[0].consequence);
  comparison.add_recorded(true, kBroken);
  EXPECT_TRUE(comparison.is_refuted()) << "no longer";
}

TEST(Comparison, NoMissWhereUndisturbedRunsFailToo) {
  EXPECT_TRUE(after(flip(), true, "+++++++", ".......").is_proof());
  EXPECT_TRUE(after(flip(), true, "+++.", "").is_refuted());
}

TEST(Comparison, FewerRunsWhereEachTakesItsWholeTime) {
  const std::vector<judge::Difference> hang = {{{ConsequenceKind::kHang, "did not end"}, ""}};
  EXPECT_TRUE(after(flip(), false, "+++", ".......", hang).is_proof());
  EXPECT_TRUE(after(flip(), false, "++.", "", hang).is_refuted());
}

TEST(Comparison, ARunMayFailWhereTheRecordedOrderIsNotForcedWhole) {
  races::Branch branch = flip();
  EXPECT_TRUE(is_flip(branch));
  branch.change = races::BranchChange::kSignalLater;
  EXPECT_FALSE(after(branch, false, "+++++++", "").is_proof());
  EXPECT_TRUE(after(branch, false, "+++++++", "...+...").is_proof());
  EXPECT_TRUE(after(branch, false, "+++++++", "...++..").is_refuted());
  EXPECT_TRUE(after(branch, false, "+++++++", "...++..").fails_as_recorded());
}

TEST(Comparison, RecordedOrderIsThatOfTheFirstTwoToEnd) {
  EXPECT_EQ(in_recorded_order(flip(), {20, 10}).order, (std::vector<uint32_t>{4, 9}));
  races::Branch wakeup;
  wakeup.change = races::BranchChange::kOtherWakeup;
  wakeup.order = {7, 3, 5};  // the other wake-up, the wait, the one that it took
  wakeup.specific_task = 2;
  const races::Branch recorded = in_recorded_order(wakeup, {30, 20, 10});
  EXPECT_EQ(recorded.order, (std::vector<uint32_t>{5, 3}));
  EXPECT_EQ(recorded.change, races::BranchChange::kFlip);
  EXPECT_EQ(recorded.specific_task, ~0u);
}

TEST(Comparison, SaysWhatItSaw) {
  EXPECT_EQ(after(flip(), false, "+++.+++", ".?.....").describe(),
            "it fails in this order in 7 of 8, in the recorded one in 0 of 6 runs");
}

}  // namespace
}  // namespace deadheat::process::trials
