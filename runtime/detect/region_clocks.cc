#include "runtime/detect/region_clocks.h"

#include "runtime/detect/strands.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

bool region_clocks_used;

namespace {

// Regions with unbounded reach take part through these two: every region publishes to kAny,
// those that reach everything also to kEverything; every region acquires kEverything, those also
// kAny.
constexpr Address kAny = 0x40;
constexpr Address kEverything = 0x80;
bool everything_used;

// Pages with a part of an object that has a clock: where instrumented code has to ask.
constexpr unsigned kPageShift = 12;
AddressBits<kPageShift> region_pages;

void acquire_line(Thread& self, Address line, Address begin, Address end) {
  SyncShard& shard = shard_of(line);
  const Locked locked(shard.lock);
  for (const SyncObject* object = shard.first; object != nullptr; object = object->next) {
    if (object->address < begin || object->address >= end || object->kind == SyncKind::kRegion ||
        (object->address & ~Address{63}) != line)
      continue;
    learn(self.clock, object->clock);
    learn(self.clock, object->shared);
    if (object->barrier == nullptr) continue;
    for (const Clock& phase : object->barrier->clocks) learn(self.clock, phase);
  }
}

// Everything visibly released to anything in [begin, end).
void acquire_range(Thread& self, Address begin, Address end) {
  for (Address at = begin & ~Address{63}; at < end; at += 64) {
    const uint64_t* const word = sync_lines.find(at);
    if (word == nullptr) {
      at = (((at >> kSegmentShift) + 1) << kSegmentShift) - 64;
    } else if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0) {
      at = (at | (AddressBits<6>::kBytesPerWord - 1)) - 63;
    } else if (sync_lines.test(at)) {
      acquire_line(self, at, begin, end);
    }
  }
}

// Everything that a thread released, it released before its current tick.
void acquire_all_of(Thread& self, uint32_t slot, uint32_t tick) {
  if (self.clock.get(slot) < tick - 1 && !self.clock.set(slot, tick - 1)) count_lost_edge();
}
void acquire_everybody(Thread& self) {
  for_each_thread([&](const Thread& thread) {
    if (&thread != &self)
      acquire_all_of(self, thread.slot, __atomic_load_n(&thread.tick, __ATOMIC_ACQUIRE));
    for_each_outer(thread,
                   [&](const Strand& outer) { acquire_all_of(self, outer.slot, outer.tick); });
  });
}

void mark_pages(const ReachedObject& object) {
  for (Address at = object.key >> kPageShift << kPageShift; at < object.to;
       at += Address{1} << kPageShift)
    if (!region_pages.test(at)) region_pages.set(at);
}

}  // namespace

void synchronise_region(Thread& self, const ReachedSet* set) {
  if (self.alone) return;
  if (!region_clocks_used) __atomic_store_n(&region_clocks_used, true, __ATOMIC_SEQ_CST);
  const bool everything = set == nullptr || set->everything;
  const uint32_t count = set == nullptr ? 0 : set->count;
  if (everything) {
    if (!everything_used) __atomic_store_n(&everything_used, true, __ATOMIC_SEQ_CST);
    acquire_object(self, kAny, SyncKind::kRegion);
    acquire_everybody(self);
  } else {
    acquire_object(self, kEverything, SyncKind::kRegion);
    for (uint32_t i = 0; i < count; ++i) {
      const ReachedObject& object = set->objects[i];
      acquire_object(self, object.key, SyncKind::kRegion);
      acquire_range(self, object.key, object.to);
    }
  }
  if (everything) {
    publish_to(self, kEverything, SyncKind::kRegion);
  } else {
    for (uint32_t i = 0; i < count; ++i) {
      mark_pages(set->objects[i]);
      publish_to(self, set->objects[i].key, SyncKind::kRegion);
    }
  }
  publish_to(self, kAny, SyncKind::kRegion);
  advance(self);
  self.met_region = true;
  self.last_region_tick = self.tick;
}

void acquire_from_regions_slow(Thread& self, Address object) {
  if (everything_used) acquire_object(self, kEverything, SyncKind::kRegion);
  if (!region_pages.test(object)) return;
  const Address key = reach_key(object);
  if (key != 0) acquire_object(self, key, SyncKind::kRegion);
}

}  // namespace deadheat::runtime
