// Everything that a watch sees and does not report. Nothing else in lib/sampler hides a collision;
// each rule has a counter that travels with the findings.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/base/counter.h"
#include "lib/sampler/backend/collision.h"

namespace deadheat::sampler {

enum class Rule : uint8_t {
  kReported,
  kBothLocked,     // lock-prefixed or xchg against each other: atomic on both sides
  kLockedAndGone,  // a locked or atomic access' value changed, nobody was seen: may be its like
  kNotTouching,    // the instruction that trapped touches other bytes than the held one
  kBothRead,       // a read trapped where only the held side reads: traps cover read and write
  kLoader,         // the dynamic linker binds functions while others call them: made to be safe
  kOwnStack,       // the held side's own stack
  kBothAtomic,     // atomic on both sides by debug information (a lock prefix counts too)
  kLockCode,       // kernel: one side is a lock's own code, whose words are made to be raced for
  kReadAhead,      // a string function of the C library read the bytes behind a string's end
  kClock,          // kernel: the tick counter, which everybody reads without a lock
  kGoRuntime,      // Go's collector, scheduler and locks look at what the program writes
  kGoAtomicLoad,   // Go: a locked access against a load, which is how an atomic load is made
  kNotDecoded,     // a touch by an instruction that cannot be told: kernel; where the held one is
                   // atomic (the other may be its like)
  kCount
};

// Functions that are a lock: spin, read-write, mutex, semaphore. The list is in the .cc.
bool is_lock_code(std::string_view function);

bool is_clock(std::string_view variable);

class NotReported {
 public:
  // The first rule that applies, counted; kReported if none does.
  Rule judge(const Collision& seen);
  void count(Rule rule) { counts_[static_cast<size_t>(rule)]++; }
  uint64_t counted(Rule rule) const { return counts_[static_cast<size_t>(rule)]; }
  Counters counters() const;

 private:
  std::array<uint64_t, static_cast<size_t>(Rule::kCount)> counts_{};
};

}  // namespace deadheat::sampler
