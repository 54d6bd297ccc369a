#include "lib/sampler/session/choose.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace deadheat::sampler {
namespace {

TEST(Chooser, TriesEverySiteOnceBeforeAnyTwice) {
  Chooser chooser(1);
  chooser.add(40);
  chooser.add(60);
  for (int round = 0; round < 3; ++round) {
    std::set<uint32_t> seen;
    for (int i = 0; i < 100; ++i) {
      const auto site = chooser.pick();
      ASSERT_TRUE(site);
      EXPECT_TRUE(seen.insert(*site).second) << "twice: " << *site;
    }
  }
}

TEST(Chooser, NeverPicksWhatHasABreakpointOrIsForbidden) {
  Chooser chooser(2);
  chooser.add(10);
  for (uint32_t site = 0; site < 8; ++site) chooser.placed(site, true);
  chooser.forbid(8);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(chooser.pick(), 9U);
  chooser.placed(9, true);
  EXPECT_FALSE(chooser.pick());
  chooser.placed(3, false);
  EXPECT_EQ(chooser.pick(), 3U);
}

TEST(Chooser, HotPlacesThatGaveNothingLoseToTheRest) {
  Chooser chooser(3);
  chooser.add(10);
  for (uint32_t site = 0; site < 10; ++site) chooser.reached(site);
  for (int i = 0; i < 100; ++i) chooser.sampled(0, false);
  std::map<uint32_t, int> picks;
  for (int i = 0; i < 1000; ++i) picks[*chooser.pick()]++;
  // Site 0 wins only if all four draws are site 0: one time in ten thousand.
  EXPECT_LT(picks[0], 10);
  for (uint32_t site = 1; site < 10; ++site) EXPECT_GT(picks[site], 40) << site;
}

TEST(Chooser, SamplesEvenOut) {
  Chooser chooser(4);
  chooser.add(20);
  for (uint32_t site = 0; site < 20; ++site) chooser.reached(site);
  for (int i = 0; i < 2000; ++i) chooser.sampled(*chooser.pick(), false);
  for (uint32_t site = 0; site < 20; ++site) {
    EXPECT_GT(chooser.samples(site), 90U);
    EXPECT_LT(chooser.samples(site), 110U);
  }
}

TEST(Chooser, ExploringAsksTheFirstSiteOfEachFunctionEarly) {
  Chooser chooser(5);
  chooser.add(1000);
  for (uint32_t first = 0; first < 1000; first += 20) chooser.add_function(first, first + 20);
  std::set<uint32_t> asked;
  for (int i = 0; i < 100; ++i) asked.insert(*chooser.explore());
  for (uint32_t first = 0; first < 1000; first += 20) {
    EXPECT_TRUE(asked.contains(first)) << first;
    EXPECT_TRUE(chooser.is_first(first) && !chooser.is_first(first + 1));
  }
}

TEST(Chooser, HalfOfThePicksAreForWhatWasNotSeenToRun) {
  Chooser chooser(5);
  chooser.add(1000);
  for (uint32_t site = 0; site < 10; ++site) chooser.reached(site);
  int running = 0;
  for (int i = 0; i < 1000; ++i) running += *chooser.pick() < 10 ? 1 : 0;
  EXPECT_EQ(running, 500);
}

TEST(Chooser, TheRestOfAFunctionThatRunsComesNext) {
  Chooser chooser(6);
  chooser.add(1000);
  for (uint32_t first = 0; first < 1000; first += 10) chooser.add_function(first, first + 10);
  chooser.reached(503);
  std::set<uint32_t> next;
  for (int i = 0; i < 9; ++i) next.insert(*chooser.explore());
  EXPECT_EQ(next, (std::set<uint32_t>{500, 501, 502, 504, 505, 506, 507, 508, 509}));
}

TEST(Chooser, FilesAreExploredInTheOrderOfTheirAdding) {
  Chooser chooser(7);
  chooser.add(50);
  chooser.add(50);
  for (int i = 0; i < 50; ++i) EXPECT_LT(*chooser.explore(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_GE(*chooser.explore(), 50U);
}

TEST(Chooser, HalfOfThePicksAreSuspects) {
  Chooser chooser(8);
  chooser.add(1000);
  chooser.prefer(7);
  int suspects = 0;
  for (int i = 0; i < 100; ++i) suspects += *chooser.pick() == 7 ? 1 : 0;
  EXPECT_GE(suspects, 50);
  EXPECT_LE(suspects, 51);
}

TEST(Chooser, NothingToPickFrom) {
  Chooser chooser(6);
  EXPECT_FALSE(chooser.pick());
}

}  // namespace
}  // namespace deadheat::sampler
