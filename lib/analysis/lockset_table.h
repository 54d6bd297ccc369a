// LocksetTable: interns every set of held locks once, so that an access carries a 32-bit id and the
// questions "what is held now", "are these two protected", "what do they have in common" are
// memoised lookups.
//
// Bounded: a set holds at most kMaxLocks locks and the table at most kMaxSets sets; a lock beyond
// that is omitted from the set and counted. A missing lock can only add candidates to the hybrid
// engine (which confirmers refute) and does not affect happens-before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/flat_index.h"
#include "lib/order/lockset.h"

namespace deadheat::analysis {

using LocksetId = uint32_t;
inline constexpr LocksetId kNoLocks = 0;
inline constexpr LocksetId kAllLocks =
    0xffffffffU;  // the neutral element of intersect: protects against everything

class LocksetTable {
 public:
  static constexpr size_t kMaxLocks = 64;
  static constexpr size_t kMaxSets = 1U << 20;

  LocksetTable();

  // `lock` is a dense index below 2^31.
  LocksetId with(LocksetId set, uint32_t lock, bool exclusive);
  LocksetId without(LocksetId set, uint32_t lock);
  bool contains(LocksetId set, uint32_t lock) const;
  bool protects(LocksetId a, LocksetId b);
  LocksetId intersect(LocksetId a, LocksetId b);
  std::span<const order::MarkedLock> locks(LocksetId set) const;

  uint64_t dropped() const { return dropped_; }

 private:
  using Locks = std::vector<order::MarkedLock>;
  struct Memo {
    FlatIndex keys;
    std::vector<uint32_t> values;
  };
  // Returns the memoised value for key, or the result of compute(), which may intern sets.
  template <typename F>
  uint32_t remember(Memo& memo, uint64_t key, F compute);
  LocksetId intern(const Locks& locks, LocksetId otherwise);

  std::vector<order::MarkedLock> elements_;          // all sets, concatenated
  std::vector<std::pair<uint32_t, uint32_t>> sets_;  // begin and size in elements_
  FlatIndex by_hash_;                                // content hash to position in buckets_
  std::vector<std::vector<LocksetId>> buckets_;
  Memo with_, without_, protects_, intersect_;
  uint64_t dropped_ = 0;
};

}  // namespace deadheat::analysis
