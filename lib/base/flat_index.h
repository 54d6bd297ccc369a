// FlatIndex maps 64-bit keys to dense indices 0, 1, 2, ... by open addressing; the values live in
// the caller's vector. Keys are only ever added: interning needs no more, and lookups touch only
// one or two cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace deadheat {

class FlatIndex {
 public:
  static constexpr uint32_t kAbsent = 0xffffffffU;

  size_t size() const { return size_; }

  uint32_t find(uint64_t key) const {
    if (slots_.empty()) return kAbsent;
    for (size_t at = home(key);; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.index == kAbsent || slot.key == key) return slot.index;
    }
  }

  // The key's index, and whether it is new.
  std::pair<uint32_t, bool> insert(uint64_t key) {
    if ((size_ + 1) * 10 > slots_.size() * 7) grow();
    for (size_t at = home(key);; at = (at + 1) & mask()) {
      Slot& slot = slots_[at];
      if (slot.index == kAbsent) {
        slot = {key, static_cast<uint32_t>(size_++)};
        return {slot.index, true};
      }
      if (slot.key == key) return {slot.index, false};
    }
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

  // f(key, index) for every key, in no particular order.
  template <typename F>
  void for_each(F f) const {
    for (const Slot& slot : slots_)
      if (slot.index != kAbsent) f(slot.key, slot.index);
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t index;
  };

  size_t mask() const { return slots_.size() - 1; }
  size_t home(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>(key ^ (key >> 32)) & mask();
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2, Slot{0, kAbsent});
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index == kAbsent) continue;
      size_t at = home(slot.key);
      while (slots_[at].index != kAbsent) at = (at + 1) & mask();
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace deadheat
