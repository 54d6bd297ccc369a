#include "runtime/detect/epochs.h"

#include <string.h>

#include "runtime/detect/shadow.h"
#include "runtime/detect/threads.h"

namespace deadheat::runtime {

EpochEntry* batch_table;
uint64_t epoch_generation;

namespace {

Lock lock;
EpochId next_batch;  // in the half of the current generation
uint64_t resets;
// First ids of batches that threads still hold from the previous use of this half.
constexpr size_t kMaxPinned = 65536;
EpochId* pinned;
size_t pinned_count;

// The current half's ids of a thread slot, including one whose thread has ended.
struct Newest {
  EpochId first = 0;       // of its newest batch; 0: none yet
  uint32_t last_tick = 0;  // the last tick in the newest batch
  EpochId oldest = 0;      // first id of its oldest batch in this half
  uint32_t before = 0;     // the last tick in its older batches of this half; 0: none
  uint32_t former = 0;     // the last tick of the former half; 0: none
};
constexpr size_t kMaxSlots = 1 << 16;
Newest* newest;
uint32_t newest_slots;  // slots that ever had one; ~0: too many, nothing is learnt

bool is_pinned(EpochId first) {
  for (size_t i = 0; i < pinned_count; ++i)
    if (pinned[i] == first) return true;
  return false;
}

EpochId half_begin(uint64_t generation) { return (generation & 1) != 0 ? kEpochHalf : 0; }

// Never below the first batch, which is unused: an empty slot counts as ordered.
void set_order(Thread& thread, EpochId first_unknown, EpochId ordered_below) {
  for (unsigned i = 0; i < kCellSlots; ++i) {
    store_slot(thread.lanes.first_unknown[i], first_unknown << kIdShift ^ kOrderSign);
    store_slot(thread.lanes.ordered_below[i], ordered_below << kIdShift ^ kOrderSign);
  }
}

void change_half() {
  const uint64_t generation = epoch_generation + 1;
  pinned_count = 0;
  for_each_thread([generation](Thread& thread) {
    set_order(thread, kBatch, kBatch);
    const EpochBatch& batch = thread.epochs;
    if (batch.end == 0 || batch.generation + 1 >= generation) return;
    if (pinned_count < kMaxPinned) pinned[pinned_count++] = batch.end - kBatch;
  });
  clear_shadow();
  ++resets;
  next_batch = half_begin(generation);
  __atomic_store_n(&epoch_generation, generation, __ATOMIC_RELEASE);
}

bool in_current_half(EpochId id) { return ((id ^ half_begin(epoch_generation)) & kEpochHalf) == 0; }

void note_batch(Newest& slot, EpochId first, uint32_t tick) {
  if (slot.first == 0 || !in_current_half(slot.first)) {
    slot.former = slot.first == 0 ? 0 : tick - 1;
    slot.oldest = first;
    slot.before = 0;
  } else {
    slot.before = tick - 1;
  }
  slot.first = first;
  slot.last_tick = tick + (kBatch - 1);
}

void refill(EpochBatch& batch, uint32_t slot, uint32_t tick) {
  const Locked locked(lock);
  for (;;) {
    const EpochId end = half_begin(epoch_generation) + kEpochHalf;
    if (next_batch >= end) change_half();
    const EpochId first = next_batch;
    next_batch += kBatch;
    if (first == 0 || is_pinned(first)) continue;  // id 0 means "no access": its batch is unused
    __atomic_store_n(reinterpret_cast<uint64_t*>(&batch_table[first >> kBatchShift]),
                     uint64_t{slot} << 32 | tick, __ATOMIC_RELAXED);
    batch = {first, first + kBatch, epoch_generation};
    if (slot < kMaxSlots) {
      note_batch(newest[slot], first, tick);
      if (slot >= newest_slots) newest_slots = slot + 1;
    } else {
      newest_slots = ~0U;
    }
    return;
  }
}

}  // namespace

bool start_epochs() {
  batch_table =
      static_cast<EpochEntry*>(map_memory(sizeof(EpochEntry) << (kEpochBits - kBatchShift)));
  pinned = static_cast<EpochId*>(map_memory(kMaxPinned * sizeof(EpochId)));
  newest = static_cast<Newest*>(map_memory(kMaxSlots * sizeof(Newest)));
  return batch_table != nullptr && pinned != nullptr && newest != nullptr;
}

EpochId next_epoch(EpochBatch& batch, uint32_t slot, uint32_t tick) {
  if (batch.next == batch.end ||
      batch.generation != __atomic_load_n(&epoch_generation, __ATOMIC_ACQUIRE))
    refill(batch, slot, tick);
  return batch.next++;
}

void slot_ended(uint32_t slot, uint32_t tick) {
  const Locked locked(lock);
  if (slot < newest_slots && slot < kMaxSlots) newest[slot].last_tick = tick;
}

void learn_order(Thread& self) {
  const Busy busy(self);
  const Locked locked(lock);
  self.until_order = kLearnOrderEvery;
  if (newest_slots > kMaxSlots) return;
  // The first ids unknown to the thread: the lowest two.
  EpochId lowest = next_batch, second = next_batch;
  for (uint32_t slot = 0; slot < newest_slots; ++slot) {
    const Newest batch = newest[slot];
    const uint32_t known = self.clock.get(slot);
    if (batch.first == 0 || known >= batch.last_tick) continue;
    // Ids of the former half may still be in cells, possibly below any limit.
    if (!in_current_half(batch.first) || known < batch.former) return;
    const uint32_t first_tick = epoch_entry(batch.first).tick;
    EpochId unknown = batch.first + (known >= first_tick ? known + 1 - first_tick : 0);
    if (known < batch.before) unknown = batch.oldest;
    if (unknown < lowest) {
      second = lowest;
      lowest = unknown;
    } else if (unknown < second) {
      second = unknown;
    }
  }
  set_order(self, lowest, second);
}

uint64_t shadow_resets() { return resets; }
void epochs_after_fork() { lock.reset(); }

}  // namespace deadheat::runtime
