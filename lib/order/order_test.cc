// Conformance of the clocks and locksets with simple models under random operations.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lib/base/random.h"
#include "lib/order/lockset.h"
#include "lib/order/vector_clock.h"

namespace deadheat::order {
namespace {

using Model = std::map<uint32_t, Tick>;

TEST(VectorClock, ConformsToAMap) {
  Random random(1);
  std::vector<VectorClock> clocks(6);
  std::vector<Model> models(6);
  for (int step = 0; step < 20000; ++step) {
    const size_t a = random.below(6), b = random.below(6);
    switch (random.below(4)) {
      case 0: {
        const auto thread = static_cast<uint32_t>(random.below(40));
        const auto tick = static_cast<Tick>(random.between(1, 50));
        ASSERT_TRUE(clocks[a].set(thread, tick));
        models[a][thread] = tick;
        break;
      }
      case 1:
        ASSERT_TRUE(clocks[a].join(clocks[b]));
        for (const auto& [thread, tick] : Model(models[b]))
          models[a][thread] = std::max(models[a][thread], tick);
        break;
      case 2:
        if (a != b) {
          ASSERT_TRUE(clocks[a].assign(clocks[b]));
          models[a] = models[b];
        }
        break;
      default:
        if (random.below(20) == 0) {
          clocks[a].clear();
          models[a].clear();
        }
    }
    bool covers = true;
    for (uint32_t thread = 0; thread < 40; ++thread) {
      const Tick in_a = models[a].count(thread) != 0 ? models[a][thread] : 0;
      const Tick in_b = models[b].count(thread) != 0 ? models[b][thread] : 0;
      ASSERT_EQ(clocks[a].get(thread), in_a);
      covers = covers && in_b <= in_a;
    }
    ASSERT_EQ(clocks[a].covers(clocks[b]), covers);
  }
}

TEST(Lockset, ConformsToPairwiseComparison) {
  Random random(2);
  for (int step = 0; step < 20000; ++step) {
    std::map<uint64_t, bool> sets[2];
    std::vector<MarkedLock> arrays[2];
    for (int side = 0; side < 2; ++side) {
      for (uint64_t i = random.below(5); i > 0; --i)
        sets[side][random.below(8)] = random.chance(0.5);
      for (const auto& [lock, exclusive] : sets[side])
        arrays[side].push_back(mark(lock, exclusive));
    }
    bool expected = false;
    std::vector<MarkedLock> common;
    for (const auto& [lock, exclusive] : sets[0]) {
      if (sets[1].count(lock) == 0) continue;
      expected = expected || exclusive || sets[1][lock];
      common.push_back(mark(lock, exclusive && sets[1][lock]));
    }
    EXPECT_EQ(protects(arrays[0].data(), arrays[0].size(), arrays[1].data(), arrays[1].size()),
              expected);
    std::vector<MarkedLock> out(arrays[0].size());
    out.resize(intersect(arrays[0].data(), arrays[0].size(), arrays[1].data(), arrays[1].size(),
                         out.data()));
    EXPECT_EQ(out, common);
  }
}

TEST(Lockset, TwoReadersAreNotProtectedFromEachOther) {
  const MarkedLock shared = mark(3, false), exclusive = mark(3, true);
  EXPECT_FALSE(protects(&shared, 1, &shared, 1));
  EXPECT_TRUE(protects(&shared, 1, &exclusive, 1));
}

}  // namespace
}  // namespace deadheat::order
