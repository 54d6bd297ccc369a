// Treats tasks of a pool as separate threads, as far as ordering is concerned.
//
// A thread of a pool runs task after task; another run assigns them to other threads. So a task is
// not ordered with its thread's earlier or later work unless the program orders it: while a task
// runs, the thread has another slot and another clock (a strand), and its own are set aside.
// History and call stack stay the thread's; its ticks continue across strands, so that one search
// finds a strand's accesses.
//
// Two things are tied to the thread after all, and would cause false alarms:
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
  uint32_t number = 0;  // the task's number, among threads
  uint32_t parent = 0;
  StackId creation = 0;
  Address base = 0;
  Strand* outer = nullptr;  // the one that was set aside for it
};

struct DeadStack {
  Address base = 0;  // of what is below
  Clock known;       // everything up to here was before the end of the frames there
};
inline constexpr size_t kDeadStacks = 16;

// Additional state of a thread that has run tasks.
struct Carrier {
  Lock lock;  // others search a strand's past
  Strand* outer = nullptr;
  Strand current;  // except slot, ticks and clocks, which are the thread's
  Clock bound;     // of bound strands
  DeadStack dead[kDeadStacks];
  uint32_t tls_modules = 0;  // loaded when its thread-local memory was located
  Address tls_begin = 0, tls_end = 0;
  bool tls_elsewhere = false;
};

// The access comes from a call whose frames no longer exist, or from a task that ended before the
// memory was reused.
bool is_dead(Address address, const EpochEntry& earlier);

// The thread's current task, or nothing if it is in none.
struct StrandName {
  uint32_t number = 0, parent = 0;
  StackId creation = 0;
  bool is_task = false;
};
StrandName current_strand(const Thread& thread);
// The owner of the slot at that time; its history is in the thread `carrier`. False: no strand.
bool find_strand(const EpochEntry& epoch, uint32_t* carrier, StrandName* name);

// Everything that a thread has set aside: slot and tick.
template <typename Visit>
void for_each_outer(const Thread& thread, Visit visit) {
  Carrier* const carrier = __atomic_load_n(&thread.carrier, __ATOMIC_ACQUIRE);
  if (carrier == nullptr) return;
  const Locked locked(carrier->lock);
  for (const Strand* strand = carrier->outer; strand != nullptr; strand = strand->outer)
    visit(*strand);
}

void bind_strand(Thread& self);  // it uses data of its thread
void free_carrier(Thread& thread);
void strands_after_fork(Thread& self);
uint64_t tasks_in_thread_order();

}  // namespace deadheat::runtime
