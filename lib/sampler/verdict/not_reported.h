// Everything that a watch sees but does not report. Nothing else in lib/sampler hides a collision;
// each rule has a counter that is stored with the findings.
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
  kLockedAndGone,  // a locked or atomic access's value changed by an unseen access, which may be of
  kNotTouching,    // the trapping instruction touches bytes other than the held ones
  kBothRead,       // a read trapped while the held side only reads: traps cover read and write
  kBelowProgram,   // the dynamic linker binds functions while others call them, and inlined
                   // checks read what Deadheat's runtime writes: safe by design
  kOwnStack,       // the held side's own stack
  kBothAtomic,     // atomic on both sides by debug information (a lock prefix counts too)
  kLockCode,      // kernel: one side is in a lock's own code, whose words are meant to be raced for
  kReadAhead,     // a string function of the C library read the bytes behind a string's end
  kClock,         // kernel: the tick counter, which all code reads without a lock
  kGoRuntime,     // Go's collector, scheduler and locks read what the program writes
  kGoAtomicLoad,  // Go: a locked access against a load, which may be an atomic load
  kNotDecoded,    // a touch by an unidentified instruction: in the kernel, or if the held access is
                  // atomic (the other may be too)
  kCount
};

// Functions that implement a lock: spin, read-write, mutex, semaphore. The list is in the .cc.
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
