// Epoch ids: 22-bit names for (thread slot, tick), small enough for a shadow slot.
//
// Ids are assigned in batches, in the order in which threads release. A batch belongs to one thread
// and its ids are consecutive ticks, so one table entry describes a batch. Batches come from one
// half of the table at a time. When a half is used up, the shadow is cleared and the other half is
// used. Ids of the former half stay valid, so a thread that has not released for long is still
// understood; when its half is reused, its batch is pinned and skipped.
#pragma once

#include <stdint.h>

#include "runtime/common/os.h"

namespace deadheat::runtime {

struct Thread;
using EpochId = uint32_t;

struct EpochEntry {
  uint32_t tick;
  uint32_t slot;
};

inline constexpr unsigned kEpochBits = 22;
inline constexpr EpochId kEpochHalf = 1U << (kEpochBits - 1);
inline constexpr unsigned kBatchShift = 6;
inline constexpr EpochId kBatch = 1U << kBatchShift;

struct EpochBatch {
  EpochId next = 0;
  EpochId end = 0;
  uint64_t generation = 0;
};

extern EpochEntry* batch_table;    // per batch: its thread's slot, and the tick of its first id
extern uint64_t epoch_generation;  // counts changes of the half

bool start_epochs();  // false: no memory
// The next id for a thread, for the tick after the last one's; `batch` is the thread's own. Clears
// the shadow when a half is used up.
EpochId next_epoch(EpochBatch& batch, uint32_t slot, uint32_t tick);
// Sets first_unknown of self.lanes, the lowest id of the current half that is not known to be
// ordered before the thread: all below it are. Its batch often belongs to a thread that has not
// released for long (the waiting main thread): other ids are ordered up to ordered_below. This
// holds because the thread's clock covers all older batches of every slot; clocks only grow, so it
// stays true until the half changes.
void learn_order(Thread& self);
void slot_ended(uint32_t slot, uint32_t tick);  // its thread's last tick
uint64_t shadow_resets();
void epochs_after_fork();

inline EpochEntry epoch_entry(EpochId id) {
  const uint64_t both = __atomic_load_n(
      reinterpret_cast<const uint64_t*>(&batch_table[id >> kBatchShift]), __ATOMIC_RELAXED);
  return {static_cast<uint32_t>(both) + id % kBatch, static_cast<uint32_t>(both >> 32)};
}

}  // namespace deadheat::runtime
