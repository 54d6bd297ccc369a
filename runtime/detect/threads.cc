#include "runtime/detect/threads.h"

#include <pthread.h>
#include <string.h>

#include "runtime/common/options.h"
#include "runtime/detect/check.h"
#include "runtime/detect/lanes.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/regions.h"
#include "runtime/detect/seen_loops.h"
#include "runtime/detect/shadow.h"
#include "runtime/detect/strands.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

__thread Hot hot;

Lock thread_list_lock;
Thread* thread_list;

namespace {

// Below this many slots, a free one is reused only if a thread knows its owner's whole past.
constexpr uint32_t kManySlots = 512;

struct FreeSlot {
  uint32_t slot;
  uint32_t tick;  // the last one of its former owner
};

Lock slot_lock;
FreeSlot* free_slots;
size_t free_count, free_capacity;
uint32_t slot_count;
uint64_t shared_slots;
uint64_t started;
uint32_t numbers;

}  // namespace

void give_slot(uint32_t slot, uint32_t tick) {
  slot_ended(slot, tick);
  const Locked locked(slot_lock);
  if (free_count == free_capacity) {
    const size_t capacity = free_capacity == 0 ? 64 : free_capacity * 2;
    void* const grown = ArenaMemory::grow(free_slots, free_capacity * sizeof(FreeSlot),
                                          capacity * sizeof(FreeSlot));
    if (grown == nullptr) return;  // the slot is never reused: clocks are a word longer
    free_slots = static_cast<FreeSlot*>(grown);
    free_capacity = capacity;
  }
  free_slots[free_count++] = {slot, tick};
}

uint32_t next_thread_number() { return __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED); }

namespace {

size_t known_free_slot(const Clock* creator) {
  for (size_t i = 0; i < free_count && creator != nullptr; ++i)
    if (creator->get(free_slots[i].slot) >= free_slots[i].tick) return i;
  return free_count;
}

FreeSlot take_free(size_t chosen) {
  const FreeSlot taken = free_slots[chosen];
  free_slots[chosen] = free_slots[--free_count];
  return taken;
}

FreeSlot take_slot(const Clock* creator) {
  const Locked locked(slot_lock);
  size_t chosen = known_free_slot(creator);
  if (chosen == free_count && free_count > 0 && slot_count >= kManySlots) {
    chosen = 0;
    ++shared_slots;
  }
  return chosen == free_count ? FreeSlot{slot_count++, 0} : take_free(chosen);
}

void list(Thread* thread) {
  const Locked locked(thread_list_lock);
  thread->common.number = next_thread_number();
  ++started;
  thread->next_in_list = thread_list;
  thread_list = thread;
}

void unlist_and_free(Thread* thread) {
  Thread** at = &thread_list;
  while (*at != nullptr && *at != thread) at = &(*at)->next_in_list;
  if (*at != nullptr) *at = thread->next_in_list;
  for (HistoryChunk* const chunk : thread->history.chunks) arena_free(chunk, kHistoryChunkBytes);
  free_carrier(*thread);
  thread->~Thread();
  arena_free(thread, sizeof(Thread));
}

// A race may still involve a thread that has ended: the last ones keep their history.
constexpr size_t kRemembered = 64;
Thread* remembered[kRemembered];
size_t next_remembered;
size_t remembered_chunks;
uint64_t forgotten_evicted;
constexpr size_t kRememberedChunks = 1024;  // 32 MB

size_t chunk_count(const Thread& thread) {
  size_t count = 0;
  for (const HistoryChunk* const chunk : thread.history.chunks) count += chunk != nullptr ? 1 : 0;
  return count;
}

void forget(Thread*& place) {
  if (place == nullptr) return;
  remembered_chunks -= chunk_count(*place);
  forgotten_evicted += place->evicted;
  unlist_and_free(place);
  place = nullptr;
}

// The thread has ended and can no longer be joined.
void retire(Thread* thread) {
  give_slot(thread->slot, thread->tick);
  if (thread->stack != nullptr) unmap_memory(thread->stack, kMaxStack * sizeof(Address));
  thread->stack = nullptr;
  thread->stack_begin = thread->stack_end = 0;
  thread->clock.release();
  thread->release_fence.release();
  thread->acquire_pending.release();
  free_seen_loops(*thread);
  free_spare_objects(*thread);
  thread->common.finished = true;
  const Locked locked(thread_list_lock);
  forget(remembered[next_remembered]);
  remembered[next_remembered] = thread;
  next_remembered = (next_remembered + 1) % kRemembered;
  remembered_chunks += chunk_count(*thread);
  for (size_t i = next_remembered, n = 0; n < kRemembered && remembered_chunks > kRememberedChunks;
       i = (i + 1) % kRemembered, ++n)
    forget(remembered[i]);
}

// Whoever asks whose stack an address is in mostly asks about other memory: no lock for those.
constexpr unsigned kStackPartShift = 16;
constexpr size_t kLargeStack = size_t{1} << 30;
AddressBits<kStackPartShift> stack_parts;
bool any_large_stack;  // then everything may be stack

void mark_stack(const Thread& self) {
  if (self.stack_end - self.stack_begin > kLargeStack)
    return __atomic_store_n(&any_large_stack, true, __ATOMIC_SEQ_CST);
  constexpr Address kPart = Address{1} << kStackPartShift;
  for (Address at = self.stack_begin & ~(kPart - 1); at < self.stack_end; at += kPart)
    if (!stack_parts.test(at)) stack_parts.set(at);
}

void find_stack(Thread& self) {
  pthread_attr_t attributes;
  ++self.common.inside;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* begin = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    self.stack_begin = reinterpret_cast<Address>(begin);
    self.stack_end = self.stack_begin + size;
    mark_stack(self);
    pthread_attr_destroy(&attributes);
  }
  --self.common.inside;
}

// `fiber`: it shares the thread, and has a stack created by the program.
void bind(Thread& self, bool fiber = false) {
  self.common.kernel_id = kernel_thread_id();
  self.sequence = own_sequence();
  self.stack = static_cast<Address*>(map_memory(kMaxStack * sizeof(Address)));
  hot.stack_top = self.stack;
  hot.stack_limit = self.stack;  // the outermost call takes the slow path: regions.cc
  hot.stack_floor = self.stack;
  tls_self = &self;
  if (!fiber) find_stack(self);
  history_next_chunk(self);
  advance(self);
  refresh_hot(self);
}

Thread* make_thread(const Clock* creator) {
  Thread* const thread = arena_new<Thread>();
  if (thread == nullptr) return nullptr;
  const FreeSlot slot = take_slot(creator);
  thread->slot = slot.slot;
  thread->tick = thread->first_tick = slot.tick + 1;
  list(thread);
  if (creator != nullptr) thread->clock.join(*creator);
  thread->clock.set(slot.slot, thread->tick);
  return thread;
}

}  // namespace

bool may_be_stack(Address address) {
  return stack_parts.test(address) || __atomic_load_n(&any_large_stack, __ATOMIC_RELAXED);
}

bool take_own_slot(const Clock& clock, uint32_t* slot, uint32_t* tick) {
  const Locked locked(slot_lock);
  const size_t chosen = known_free_slot(&clock);
  if (chosen == free_count && slot_count >= kManySlots) return false;
  const FreeSlot taken = chosen == free_count ? FreeSlot{slot_count++, 0} : take_free(chosen);
  *slot = taken.slot;
  *tick = taken.tick;
  return true;
}

namespace {

void set_epoch_words(Thread& self, bool stores) {
  const Slot word = stores ? self.epoch << kIdShift | kMaskBits : 0;
  put(hot.read, word);
  put(hot.write, stores ? word | kWriteBit : 0);
  put(self.lanes.own, self.epoch << kIdShift);
}

void set_words(Thread& self) {
  const bool stores = !self.alone && self.ignore_reads + self.ignore_writes == 0;
  hot.storing = stores ? &self : nullptr;
  hot.segments = stores ? shadow_segments : no_cells;
  hot.address_bits = stores ? kCellAddressBits : 0;
  set_epoch_words(self, stores);
}

// No slot but the thread's own is in use, and it knows all that was done in the others.
void begin_alone(Thread& self) {
  const Locked locked(slot_lock);
  if (runtime_options().alone == 0 || self.carrier != nullptr || free_count + 1 != slot_count)
    return;
  for (size_t i = 0; i < free_count; ++i)
    if (self.clock.get(free_slots[i].slot) < free_slots[i].tick) return;
  self.alone = true;
  set_words(self);
}

}  // namespace

ThreadCommon& common(Thread* thread) { return thread->common; }

void start_main_thread() {
  Thread* const thread = make_thread(nullptr);
  if (thread == nullptr) return;
  bind(*thread);
  begin_alone(*thread);
}

void end_alone(Thread& self) {
  if (!self.alone) return;
  self.alone = false;
  scan_open_regions(self);
  set_words(self);
}

size_t stack_depth(const Thread& self) {
  return &self == tls_self ? static_cast<size_t>(hot.stack_top - self.stack) : 0;
}

void advance(Thread& self) {
  if (self.tick != ~uint32_t{0}) ++self.tick;
  self.clock.set(self.slot, self.tick);
  self.epoch = next_epoch(self.epochs, self.slot, self.tick);
  history_tick(self);
  set_epoch_words(self, hot.storing != nullptr);
}

void refresh_hot(Thread& self) { set_words(self); }

Thread* on_thread_create(Thread* parent, Address pc) {
  {
    const Busy busy(*parent);  // a handler's accesses would change the history
    look_again(*parent);
    end_alone(*parent);
  }
  Thread* const child = make_thread(&parent->clock);
  if (child == nullptr) return nullptr;
  child->common.parent = parent->common.number;
  child->creation_stack = current_stack(*parent, pc);
  advance(*parent);
  return child;
}

void on_thread_cancel_create(Thread*, Thread* never_started) {
  if (never_started == nullptr) return;
  retire(never_started);
}

void on_thread_start(Thread* self) {
  if (self != nullptr) bind(*self);
}

void on_thread_finish(Thread* self) {
  if (hot.storing != nullptr) {
    const Busy busy(*self);
    look_again_at_all(*self);
  }
  hot = Hot{};
  tls_self = nullptr;
  if (self->common.detached) {
    retire(self);
    return;
  }
  __atomic_store_n(&self->common.finished, true, __ATOMIC_RELEASE);
}

void on_thread_join(Thread* self, Thread* joined, Address) {
  const bool known = self->clock.join(joined->clock);
  retire(joined);
  if (known) begin_alone(*self);
}

void on_thread_detach(Thread* detached) { detached->common.detached = true; }

void on_thread_name(Thread* thread, const char* name) {
  strncpy(thread->common.name, name, sizeof thread->common.name - 1);
}

void mode_fiber_switch(Thread* from, Thread* to) {
  from->hidden = hot;
  tls_self = nullptr;
  if (to->stack == nullptr) {
    bind(*to, true);
    return;
  }
  to->common.kernel_id = from->common.kernel_id;  // a fiber may move to another thread
  to->sequence = from->sequence;
  hot = to->hidden;
  tls_self = to;
}

void mode_fiber_end(Thread* fiber) { retire(fiber); }

size_t locks_held(const Thread* self) { return self->lock_count; }

size_t calls_of(const Thread* self, Address* calls, size_t room) {
  const size_t depth = stack_depth(*self), kept = depth < room ? depth : room;
  for (size_t i = 0; i < kept; ++i) calls[i] = self->stack[depth - 1 - i];
  return kept;
}

uint64_t slots_shared() { return shared_slots; }
uint64_t threads_started() { return started; }
uint64_t evicted_by_forgotten_threads() { return forgotten_evicted; }

// The other threads do not exist in the child, and their work there is part of its past: its memory
// is a copy. Their slots stay unavailable.
void threads_after_fork(Thread* self) {
  thread_list_lock.reset();
  slot_lock.reset();
  strands_after_fork(*self);
  self->common.kernel_id = kernel_thread_id();
  for_each_thread([self](Thread& thread) {
    if (&thread == self) return;
    if (thread.carrier != nullptr) thread.carrier->lock.reset();
    if (self->clock.get(thread.slot) < thread.tick) self->clock.set(thread.slot, thread.tick);
    for_each_outer(thread, [self](const Strand& strand) {
      if (self->clock.get(strand.slot) < strand.tick) self->clock.set(strand.slot, strand.tick);
    });
    thread.common.finished = true;
    thread.stack_begin = thread.stack_end = 0;
  });
}

}  // namespace deadheat::runtime
