// Vector clocks and epochs. Freestanding: the runtime inside the program under test uses this
// header too, so it needs only libc, never throws, and leaves handling of exhausted memory to the
// caller (grow returns false).
//
// Component i is how much of thread i's past is known. Components from size() on are 0.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace deadheat::order {

using Tick = uint32_t;

// One component of a clock: "thread up to tick". Tick 0 precedes everything: no thread ever runs at
// it.
struct Epoch {
  uint32_t thread = 0;
  Tick tick = 0;
};

// Where clocks are allocated: in libc's heap on the host, in the runtime's own memory inside the
// program under test.
struct LibcMemory {
  static void* grow(void* old, size_t, size_t size) { return realloc(old, size); }
  static void release(void* block, size_t) { free(block); }
};

template <typename Memory>
class BasicVectorClock {
 public:
  BasicVectorClock() = default;
  BasicVectorClock(const BasicVectorClock&) = delete;
  BasicVectorClock& operator=(const BasicVectorClock&) = delete;
  BasicVectorClock(BasicVectorClock&& other) noexcept
      : ticks_(other.ticks_), size_(other.size_), capacity_(other.capacity_) {
    other.ticks_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  BasicVectorClock& operator=(BasicVectorClock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~BasicVectorClock() { release(); }

  // Frees the memory; the clock then knows nothing.
  void release() {
    if (ticks_ != nullptr) Memory::release(ticks_, capacity_ * sizeof(Tick));
    ticks_ = nullptr;
    size_ = capacity_ = 0;
  }
  void swap(BasicVectorClock& other) {
    BasicVectorClock* a = this;
    Tick* const ticks = a->ticks_;
    const uint32_t size = a->size_, capacity = a->capacity_;
    a->ticks_ = other.ticks_, a->size_ = other.size_, a->capacity_ = other.capacity_;
    other.ticks_ = ticks, other.size_ = size, other.capacity_ = capacity;
  }

  uint32_t size() const { return size_; }
  uint32_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  const Tick* data() const { return ticks_; }
  Tick get(uint32_t thread) const { return thread < size_ ? ticks_[thread] : 0; }
  // Whether everything up to the epoch is known.
  bool covers(Epoch epoch) const { return epoch.tick <= get(epoch.thread); }
  bool covers(const BasicVectorClock& other) const {
    for (uint32_t i = 0; i < other.size_; ++i)
      if (other.ticks_[i] > get(i)) return false;
    return true;
  }

  bool set(uint32_t thread, Tick tick) {
    if (!grow(thread + 1)) return false;
    ticks_[thread] = tick;
    return true;
  }
  void clear() { size_ = 0; }

  // Pointwise maximum.
  bool join(const BasicVectorClock& other) {
    if (!grow(other.size_)) return false;
    const Tick* const from = other.ticks_;
    for (uint32_t i = 0; i < other.size_; ++i)
      ticks_[i] = ticks_[i] < from[i] ? from[i] : ticks_[i];
    return true;
  }
  // Pointwise minimum: what both clocks know.
  void meet(const BasicVectorClock& other) {
    if (size_ > other.size_) size_ = other.size_;
    for (uint32_t i = 0; i < size_; ++i)
      ticks_[i] = ticks_[i] < other.ticks_[i] ? ticks_[i] : other.ticks_[i];
  }
  bool assign(const BasicVectorClock& other) {
    if (other.size_ == 0) {
      size_ = 0;
      return true;
    }
    if (!grow(other.size_)) return false;
    size_ = other.size_;
    memcpy(ticks_, other.ticks_, other.size_ * sizeof(Tick));
    return true;
  }

  // Makes components [0, size) addressable.
  bool grow(uint32_t size) {
    if (size <= size_) return true;
    if (size > capacity_) {
      uint32_t capacity = capacity_ == 0 ? 8 : capacity_;
      while (capacity < size) capacity *= 2;
      void* const grown = Memory::grow(ticks_, capacity_ * sizeof(Tick), capacity * sizeof(Tick));
      if (grown == nullptr) return false;
      ticks_ = static_cast<Tick*>(grown);
      capacity_ = capacity;
    }
    memset(ticks_ + size_, 0, (size - size_) * sizeof(Tick));
    size_ = size;
    return true;
  }

 private:
  Tick* ticks_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

using VectorClock = BasicVectorClock<LibcMemory>;

}  // namespace deadheat::order
