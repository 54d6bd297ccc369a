#include "lib/analysis/lockset_table.h"

#include <algorithm>

#include "lib/base/text.h"

namespace deadheat::analysis {

using order::MarkedLock;

LocksetTable::LocksetTable() { intern({}, kNoLocks); }

std::span<const MarkedLock> LocksetTable::locks(LocksetId set) const {
  return {elements_.data() + sets_[set].first, sets_[set].second};
}

template <typename F>
uint32_t LocksetTable::remember(Memo& memo, uint64_t key, F compute) {
  const auto [index, is_new] = memo.keys.insert(key);
  if (is_new) {
    memo.values.push_back(0);
    memo.values[index] = compute();
  }
  return memo.values[index];
}

LocksetId LocksetTable::intern(const Locks& locks, LocksetId otherwise) {
  const std::string_view bytes(reinterpret_cast<const char*>(locks.data()),
                               locks.size() * sizeof(MarkedLock));
  const auto [index, is_new] = by_hash_.insert(stable_hash(bytes));
  if (is_new) buckets_.emplace_back();
  for (const LocksetId id : buckets_[index]) {
    const auto known = this->locks(id);
    if (std::equal(known.begin(), known.end(), locks.begin(), locks.end())) return id;
  }
  if (sets_.size() >= kMaxSets) {
    ++dropped_;
    return otherwise;
  }
  sets_.emplace_back(static_cast<uint32_t>(elements_.size()), static_cast<uint32_t>(locks.size()));
  elements_.insert(elements_.end(), locks.begin(), locks.end());
  buckets_[index].push_back(static_cast<LocksetId>(sets_.size() - 1));
  return buckets_[index].back();
}

LocksetId LocksetTable::with(LocksetId set, uint32_t lock, bool exclusive) {
  const uint64_t marked = order::mark(lock, exclusive);
  return remember(with_, (static_cast<uint64_t>(set) << 32) | marked, [&] {
    const auto held = locks(set);
    Locks grown(held.begin(), held.end());
    const auto at = std::lower_bound(grown.begin(), grown.end(), order::mark(lock, false));
    if (at != grown.end() && order::lock_of(*at) == lock) {
      *at = order::mark(lock, exclusive || order::is_exclusive(*at));
    } else if (grown.size() >= kMaxLocks) {
      ++dropped_;
      return set;
    } else {
      grown.insert(at, marked);
    }
    return intern(grown, set);
  });
}

LocksetId LocksetTable::without(LocksetId set, uint32_t lock) {
  return remember(without_, (static_cast<uint64_t>(set) << 32) | lock, [&] {
    const auto held = locks(set);
    Locks rest;
    for (const MarkedLock marked : held)
      if (order::lock_of(marked) != lock) rest.push_back(marked);
    return rest.size() == held.size() ? set : intern(rest, kNoLocks);
  });
}

bool LocksetTable::contains(LocksetId set, uint32_t lock) const {
  for (const MarkedLock marked : locks(set))
    if (order::lock_of(marked) == lock) return true;
  return false;
}

bool LocksetTable::protects(LocksetId a, LocksetId b) {
  if (a == kAllLocks || b == kAllLocks) return true;
  if (a == kNoLocks || b == kNoLocks) return false;
  if (a > b) std::swap(a, b);
  return remember(protects_, (static_cast<uint64_t>(a) << 32) | b, [&] {
           const auto x = locks(a), y = locks(b);
           return static_cast<uint32_t>(order::protects(x.data(), x.size(), y.data(), y.size()));
         }) != 0;
}

LocksetId LocksetTable::intersect(LocksetId a, LocksetId b) {
  if (a == b || b == kAllLocks) return a;
  if (a == kAllLocks) return b;
  if (a == kNoLocks || b == kNoLocks) return kNoLocks;
  if (a > b) std::swap(a, b);
  return remember(intersect_, (static_cast<uint64_t>(a) << 32) | b, [&] {
    const auto x = locks(a), y = locks(b);
    Locks common(x.size());
    common.resize(order::intersect(x.data(), x.size(), y.data(), y.size(), common.data()));
    return intern(common, kNoLocks);
  });
}

}  // namespace deadheat::analysis
