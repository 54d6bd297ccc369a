// Concurrent campaigns in one process: claims do not depend on their owner.
#include "lib/confirm/processor_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

namespace deadheat::confirm {
namespace {

// Processor numbers that no machine has, so that no one else claims them.
const std::vector<int> kAllowed = {90001, 90007, 90011};

TEST(ProcessorClaims, TwoBesideEachOtherDoNotShare) {
  const ProcessorClaims one(kAllowed, 1), other(kAllowed, 1), third(kAllowed, 1);
  std::set<int> all;
  for (const ProcessorClaims* claim : {&one, &other, &third}) {
    ASSERT_EQ(claim->processors().size(), 1u);
    all.insert(claim->processors().front());
  }
  EXPECT_EQ(all, std::set<int>(kAllowed.begin(), kAllowed.end()));
}

TEST(ProcessorClaims, WhereAllAreClaimedTheyAreSharedEvenly) {
  std::vector<std::unique_ptr<ProcessorClaims>> claims;
  std::multiset<int> all;
  for (int i = 0; i < 6; i++) {
    claims.push_back(std::make_unique<ProcessorClaims>(kAllowed, 1));
    all.insert(claims.back()->processors().front());
  }
  for (const int processor : kAllowed) EXPECT_EQ(all.count(processor), 2u) << processor;
}

TEST(ProcessorClaims, WhatIsGivenBackIsTakenAgain) {
  const ProcessorClaims two(kAllowed, 2);
  int left = 0;
  {
    const ProcessorClaims one(kAllowed, 1);
    left = one.processors().front();
  }
  const ProcessorClaims again(kAllowed, 1);
  EXPECT_EQ(again.processors().front(), left);
  const auto& mine = two.processors();
  EXPECT_EQ(std::count(mine.begin(), mine.end(), left), 0);
}

TEST(ProcessorClaims, AllAndMoreThanThereAre) {
  for (const size_t wanted : {size_t{0}, size_t{8}}) {
    const ProcessorClaims claim(kAllowed, wanted);
    const auto& mine = claim.processors();
    EXPECT_EQ(std::set<int>(mine.begin(), mine.end()),
              std::set<int>(kAllowed.begin(), kAllowed.end()));
    EXPECT_EQ(mine.size(), kAllowed.size());
  }
}

}  // namespace
}  // namespace deadheat::confirm
