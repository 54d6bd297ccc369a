// PairSet: the racy pairs of sites found so far, each once, with its first example. Bounded; pairs
// beyond the limit are counted.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/analysis/engine.h"
#include "lib/base/flat_index.h"

namespace deadheat::analysis {

class PairSet {
 public:
  explicit PairSet(uint64_t max_pairs) : max_pairs_(max_pairs) {}

  // Returns the pair's entry if it is new and there is room, to be filled with an example;
  // otherwise nullptr.
  RacyPair* record(trace::SiteId a, trace::SiteId b) {
    const auto [index, is_new] = ids_.insert(key(a, b));
    if (!is_new) {
      if (index < pairs_.size()) ++pairs_[index].count;
      return nullptr;
    }
    if (pairs_.size() >= max_pairs_) {
      ++dropped_;
      return nullptr;
    }
    pairs_.emplace_back().count = 1;
    return &pairs_.back();
  }
  bool contains(trace::SiteId a, trace::SiteId b) const {
    return ids_.find(key(a, b)) != FlatIndex::kAbsent;
  }

  std::vector<RacyPair>& pairs() { return pairs_; }
  uint64_t dropped() const { return dropped_; }

 private:
  static uint64_t key(trace::SiteId a, trace::SiteId b) {
    return a < b ? static_cast<uint64_t>(a) << 32 | b : static_cast<uint64_t>(b) << 32 | a;
  }
  uint64_t max_pairs_;
  FlatIndex ids_;
  std::vector<RacyPair> pairs_;  // in order of ids; pairs past the limit have ids but no entry
  uint64_t dropped_ = 0;
};

}  // namespace deadheat::analysis
