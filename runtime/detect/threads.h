// The detector's state of a thread.
//
// Clocks are indexed by thread *slots*. The slot of a finished thread is reused, with its ticks
// continuing, by a thread whose creator knows everything that the former owner did: then nothing is
// lost. If no such slot is free and there are many, any free one is taken: the work of the two
// owners counts as ordered, which can hide a race, never invent one (counted).
//
// A thread is *alone* while no other thread, fiber or task exists and it is ordered after all that
// ever existed: until it creates the first one, and again when it has joined the last. Everything
// it does then happens before everything that others will do, because they come from it. So none of
// it needs to be stored, and its hooks return at once.
#pragma once

#include "lib/order/vector_clock.h"
#include "runtime/common/arena.h"
#include "runtime/common/check_words.h"
#include "runtime/common/thread.h"
#include "runtime/detect/epochs.h"
#include "runtime/detect/history.h"
#include "runtime/detect/shadow.h"
#include "runtime/detect/stacks.h"
#include "runtime/detect/stops.h"

namespace deadheat::runtime {

using Clock = order::BasicVectorClock<ArenaMemory>;

inline constexpr size_t kMaxStack = 1 << 18;  // frames; deeper calls are counted but not stored
inline constexpr size_t kMaxLocks = 128;
inline constexpr size_t kMaxRegions = 16;
inline constexpr size_t kKeptArguments = 8;

// Look-ups that found an order before it pays to learn what is ordered without one.
inline constexpr uint32_t kLearnOrderEvery = 64;

// What check.cc compares four slots with. The two limits of learn_order() have their sign flipped,
// because SSE compares signed numbers only.
inline constexpr Slot kOrderSign = 0x80000000;
struct alignas(16) OrderLanes {
  Slot own[kCellSlots] = {};  // the thread's epoch: its batch
  Slot first_unknown[kCellSlots] = {kNothing, kNothing, kNothing, kNothing};
  Slot ordered_below[kCellSlots] = {kNothing, kNothing, kNothing, kNothing};

  // Above an empty slot, below every id.
  static constexpr Slot kNothing = kBatch << kIdShift ^ kOrderSign;
};

struct ReachedSet;

// A call into uninstrumented code that has not returned.
struct OpenRegion {
  ReachedSet* reached = nullptr;
  size_t stack_depth = 0;
  Address frame = 0;         // on the real stack: everything below belongs to the region
  bool in_callback = false;  // instrumented code runs inside
  // Begun while the thread was alone and ignored accesses: what to begin with if that ends.
  bool unscanned = false;
  Address callee = 0;
  Address arguments[kKeptArguments] = {};
  size_t argument_count = 0;
};

struct BarrierVisit {
  Address barrier = 0;
  uint64_t phase = 0;
};

// What the hooks need, one load away, and what compilers' inlined checks read (abi/checks.h): a
// plain read of all bytes in this tick as a shadow slot, the same for a write, and the shadow.
// While a thread is not known, is alone or ignores accesses, its words are those of an empty slot,
// and its shadow is one empty cell: all accesses are done.
struct alignas(16) Hot : deadheat_check_words {
  constexpr Hot() : deadheat_check_words{{}, {}, no_cells, 0} {}
  Thread* storing = nullptr;  // the thread, unless it is alone or ignores accesses
  Address* stack_top = nullptr;
  Address* stack_limit = nullptr;  // an entry at this depth takes the slow way
  Address* stack_floor = nullptr;  // an exit from this depth does
};
extern __thread Hot hot asm(DEADHEAT_CHECK_WORDS_NAME)
    __attribute__((tls_model("initial-exec"), visibility("default")));

struct Thread {
  ThreadCommon common;
  uint32_t slot = 0;
  uint32_t tick = 1;
  uint32_t first_tick = 1;
  EpochId epoch = 0;
  EpochBatch epochs;
  Clock clock;
  // What is ordered before the thread without a look-up (epochs.h, learn_order).
  OrderLanes lanes;
  uint32_t until_order = kLearnOrderEvery;
  Clock release_fence;    // clock at the last release fence
  Clock acquire_pending;  // what relaxed loads read, for the next acquire fence

  volatile uint64_t* sequence = nullptr;  // stops.h
  Address* stack = nullptr;               // call sites, outermost first
  size_t deep = 0;                        // calls beyond kMaxStack
  History history;

  HeldLock locks[kMaxLocks];
  uint32_t lock_count = 0;
  BarrierVisit barrier;
  uint32_t sending = 0;  // the tick published by a call that has not returned; 0: none

  OpenRegion regions[kMaxRegions];
  uint32_t region_count = 0;  // may exceed kMaxRegions: the excess has no sets
  uint32_t last_region_tick = 0;
  bool met_region = false;

  bool alone = false;
  uint32_t ignore_reads = 0, ignore_writes = 0, ignore_sync = 0;
  Hot hidden;  // while a signal handler runs untracked, or another fiber runs
  struct Carrier* carrier = nullptr;  // once it has run a task (strands.h)
  Address watched_begin = 0;          // an access to this uses data of the thread
  size_t watched_size = 0;
  struct SyncObject* spare_objects = nullptr;  // sync.cc
  uint32_t spare_count = 0;
  struct SeenLoop* seen_loops = nullptr;  // seen_loops.h
  uint32_t loops_again = 0, loops_unseen = 0;
  uint32_t forgotten = 0;  // how often something of the shadow was emptied for it
  uint64_t evicted = 0;    // entries that it pushed out of full cells
  StackId creation_stack = 0;
  Address stack_begin = 0, stack_end = 0;  // of its real stack
  Address tls_begin = 0, tls_end = 0;
  Thread* next_in_list = nullptr;
};

extern Lock thread_list_lock;
extern Thread* thread_list;  // all whose history is stored, including some that ended

template <typename Visit>
void for_each_thread(Visit visit) {
  const Locked locked(thread_list_lock);
  for (Thread* thread = thread_list; thread != nullptr; thread = thread->next_in_list)
    visit(*thread);
}

// Whether a thread's stack, perhaps of one that has ended, was here.
bool may_be_stack(Address address);

void start_main_thread();
void threads_after_fork(Thread* self);

// Ends the tick: call after publishing the clock (and before that look_again, check.h).
void advance(Thread& self);
// The thread's hooks store from now on or, while it ignores accesses, do not.
void refresh_hot(Thread& self);

// Called before another thread, fiber or task created by the calling thread exists.
void end_alone(Thread& self);

// While the runtime works in a thread, a signal handler there must not enter it again: it may hold
// our locks. It waits until the work is done, or runs hidden from the hooks (on_signal_begin).
class Busy {
 public:
  explicit Busy(Thread& self) : common_(self.common) { common_.critical = common_.critical + 1; }
  ~Busy() {
    common_.critical = common_.critical - 1;
    if (__builtin_expect(common_.signal_waits, 0)) run_pending_signals();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadCommon& common_;
};

uint32_t next_thread_number();
// For a strand with this clock, if no slot must be shared. `tick`: the last one used.
bool take_own_slot(const Clock& clock, uint32_t* slot, uint32_t* tick);
void give_slot(uint32_t slot, uint32_t tick);

size_t stack_depth(const Thread& self);  // only for the calling thread
uint64_t slots_shared();                 // threads that took a slot with unknown past
uint64_t threads_started();
uint64_t evicted_by_forgotten_threads();

inline StackId current_stack(const Thread& self, Address pc) {
  return keep_stack(self.stack, stack_depth(self), pc);
}

}  // namespace deadheat::runtime
