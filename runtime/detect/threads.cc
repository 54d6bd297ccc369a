#include "runtime/detect/threads.h"

#include <pthread.h>
#include <string.h>

#include "runtime/detect/check.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/shadow.h"

namespace deadheat::runtime {

__thread Hot hot __attribute__((tls_model("initial-exec")));

Lock thread_list_lock;
Thread* thread_list;

namespace {

// Up to here a thread whose past nobody knows all of gets a slot of its own; clocks stay short.
constexpr uint32_t kManySlots = 512;

struct FreeSlot {
  uint32_t slot;
  uint32_t tick;  // the last one that its former owner used
};

Lock slot_lock;
FreeSlot* free_slots;
size_t free_count, free_capacity;
uint32_t slot_count;
uint64_t shared_slots;
uint64_t started;

void give_slot(uint32_t slot, uint32_t tick) {
  slot_ended(slot, tick);
  const Locked locked(slot_lock);
  if (free_count == free_capacity) {
    const size_t capacity = free_capacity == 0 ? 64 : free_capacity * 2;
    void* const grown = ArenaMemory::grow(free_slots, free_capacity * sizeof(FreeSlot),
                                          capacity * sizeof(FreeSlot));
    if (grown == nullptr) return;  // the slot is never used again: clocks are a word longer
    free_slots = static_cast<FreeSlot*>(grown);
    free_capacity = capacity;
  }
  free_slots[free_count++] = {slot, tick};
}

FreeSlot take_slot(const Clock* creator) {
  const Locked locked(slot_lock);
  size_t chosen = free_count;
  for (size_t i = 0; i < free_count && creator != nullptr; ++i) {
    if (creator->get(free_slots[i].slot) < free_slots[i].tick) continue;
    chosen = i;
    break;
  }
  if (chosen == free_count && free_count > 0 && slot_count >= kManySlots) {
    chosen = 0;
    ++shared_slots;
  }
  if (chosen == free_count) return {slot_count++, 0};
  const FreeSlot taken = free_slots[chosen];
  free_slots[chosen] = free_slots[--free_count];
  return taken;
}

void list(Thread* thread) {
  const Locked locked(thread_list_lock);
  thread->common.number = static_cast<uint32_t>(started++);
  thread->next_in_list = thread_list;
  thread_list = thread;
}

void unlist_and_free(Thread* thread) {
  Thread** at = &thread_list;
  while (*at != nullptr && *at != thread) at = &(*at)->next_in_list;
  if (*at != nullptr) *at = thread->next_in_list;
  for (HistoryChunk* const chunk : thread->history.chunks) arena_free(chunk, kHistoryChunkBytes);
  thread->~Thread();
  arena_free(thread, sizeof(Thread));
}

// A race may still be found with what a thread did that is gone: the last ones keep their history.
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

// The thread has ended and nobody will join it any more.
void retire(Thread* thread) {
  give_slot(thread->slot, thread->tick);
  if (thread->stack != nullptr) unmap_memory(thread->stack, kMaxStack * sizeof(Address));
  thread->stack = nullptr;
  thread->stack_begin = thread->stack_end = 0;
  thread->clock.release();
  thread->release_fence.release();
  thread->acquire_pending.release();
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

void find_stack(Thread& self) {
  pthread_attr_t attributes;
  ++self.common.inside;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* begin = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    self.stack_begin = reinterpret_cast<Address>(begin);
    self.stack_end = self.stack_begin + size;
    pthread_attr_destroy(&attributes);
  }
  --self.common.inside;
}

void bind(Thread& self) {
  self.common.kernel_id = kernel_thread_id();
  self.sequence = own_sequence();
  self.stack = static_cast<Address*>(map_memory(kMaxStack * sizeof(Address)));
  hot.stack_top = self.stack;
  hot.stack_limit = self.stack;  // the outermost call takes the slow way: regions.cc
  hot.stack_floor = self.stack;
  tls_self = &self;
  find_stack(self);
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

namespace {

void set_words(Thread& self) {
  hot.storing = self.ignore_reads + self.ignore_writes == 0 ? &self : nullptr;
  // The words of nobody: an empty slot has no bytes, and the hooks ask for at least one.
  const Slot word = hot.storing != nullptr ? self.epoch << kIdShift | kMaskBits : kMaskBits;
  for (unsigned i = 0; i < kCellSlots; ++i) {
    hot.read[i] = word;
    hot.write[i] = word | kWriteBit;
    self.lanes.own[i] = self.epoch << kIdShift;
  }
}

}  // namespace

ThreadCommon& common(Thread* thread) { return thread->common; }

void start_main_thread() {
  Thread* const thread = make_thread(nullptr);
  if (thread != nullptr) bind(*thread);
}

size_t stack_depth(const Thread& self) {
  return &self == tls_self ? static_cast<size_t>(hot.stack_top - self.stack) : 0;
}

void advance(Thread& self) {
  if (self.tick != ~uint32_t{0}) ++self.tick;
  self.clock.set(self.slot, self.tick);
  self.epoch = next_epoch(self.epochs, self.slot, self.tick);
  history_tick(self);
  set_words(self);
}

void refresh_hot(Thread& self) { set_words(self); }

Thread* on_thread_create(Thread* parent, Address pc) {
  {
    const Busy busy(*parent);  // a handler's accesses would move the history
    look_again(*parent);
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
  self->clock.join(joined->clock);
  retire(joined);
}

void on_thread_detach(Thread* detached) { detached->common.detached = true; }

void on_thread_name(Thread* thread, const char* name) {
  strncpy(thread->common.name, name, sizeof thread->common.name - 1);
}

uint64_t slots_shared() { return shared_slots; }
uint64_t threads_started() { return started; }
uint64_t evicted_by_forgotten_threads() { return forgotten_evicted; }

// The other threads do not exist in the child, and what they did there is part of its past: its
// memory is a copy. Their slots are free for nobody.
void threads_after_fork(Thread* self) {
  thread_list_lock.reset();
  slot_lock.reset();
  self->common.kernel_id = kernel_thread_id();
  for_each_thread([self](Thread& thread) {
    if (&thread == self) return;
    if (self->clock.get(thread.slot) < thread.tick) self->clock.set(thread.slot, thread.tick);
    thread.common.finished = true;
    thread.stack_begin = thread.stack_end = 0;
  });
}

}  // namespace deadheat::runtime
