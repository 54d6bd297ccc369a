// Tasks of a pool as threads of their own, as far as order goes.
//
// A thread of a pool runs task after task; another run gives them to other threads. So what a task
// did is not ordered with what its thread did before or after, unless the program says so: while a
// task runs, the thread has another slot and another clock (a strand), and its own are put aside.
// History and call stack stay the thread's; its ticks go on across strands, so that one search
// finds what a strand did.
//
// Two things are tied to the thread after all, and would be false alarms:
//
//   its stack  A task's frames lie where those of an earlier task were. When a strand is entered or
//              left at address `base`, whatever the strand that is left knows about what lies
//              deeper is over: `dead` keeps that, and a race with it is none (is_dead).
//   its name   Two tasks that use what belongs to the thread that runs them (thread-local
//              variables, an array indexed by omp_get_thread_num) are ordered if they ran in the
//              same one. A strand that asks who its thread is, or touches its thread-local memory,
//              is bound: ordered with the thread itself and all bound strands on it.
//
// A strand costs two batches of epoch ids and may cost a slot, so not every task is one: the first
// of each construct are, up to a total. The others run in their thread's order, which can hide a
// race, never invent one (counted).
#pragma once

#include "runtime/detect/threads.h"

namespace deadheat::runtime {

struct Strand {
  uint32_t slot = 0, tick = 0, first_tick = 0;
  Clock clock, release_fence, acquire_pending;
  bool is_task = false;
  bool bound = true;
  uint32_t number = 0;  // of the task, among threads
  uint32_t parent = 0;
  StackId creation = 0;
  Address base = 0;
  Strand* outer = nullptr;  // that was put aside for it
};

struct DeadStack {
  Address base = 0;  // of what lies below
  Clock known;       // everything up to here was before the frames there ended
};
inline constexpr size_t kDeadStacks = 16;

// What a thread that has run tasks has besides.
struct Carrier {
  Lock lock;  // others look for what a strand did
  Strand* outer = nullptr;
  Strand current;  // but slot, ticks and clocks, which are the thread's
  Clock bound;     // what bound strands did
  DeadStack dead[kDeadStacks];
  uint32_t tls_modules = 0;  // that were loaded when its thread-local memory was looked for
  Address tls_begin = 0, tls_end = 0;
  bool tls_elsewhere = false;
};

// The access comes from a call whose frames are gone, or from a task that ended before the memory
// was used again.
bool is_dead(Address address, const EpochEntry& earlier);

// The task that the thread is in, or nothing if it is in none.
struct StrandName {
  uint32_t number = 0, parent = 0;
  StackId creation = 0;
  bool is_task = false;
};
StrandName current_strand(const Thread& thread);
// Who had the slot then; its history is that of the thread `carrier`. False: no strand.
bool find_strand(const EpochEntry& epoch, uint32_t* carrier, StrandName* name);

// All that a thread has put aside: slot and tick.
template <typename Visit>
void for_each_outer(const Thread& thread, Visit visit) {
  Carrier* const carrier = __atomic_load_n(&thread.carrier, __ATOMIC_ACQUIRE);
  if (carrier == nullptr) return;
  const Locked locked(carrier->lock);
  for (const Strand* strand = carrier->outer; strand != nullptr; strand = strand->outer)
    visit(*strand);
}

void bind_strand(Thread& self);  // it uses what is its thread's own
void free_carrier(Thread& thread);
void strands_after_fork(Thread& self);
uint64_t tasks_in_thread_order();

}  // namespace deadheat::runtime
