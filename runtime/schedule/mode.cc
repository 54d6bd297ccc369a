// The life of the process and its threads under the scheduler, and the events that concern it:
// which thread holds which lock. Clocks, stacks and memory belong to other modes.
#include "runtime/common/arena.h"
#include "runtime/common/options.h"
#include "runtime/common/print.h"
#include "runtime/common/reach.h"
#include "runtime/schedule/busy.h"
#include "runtime/schedule/release.h"
#include "runtime/schedule/report.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

ThreadCommon& common(Thread* thread) { return thread->common; }

const Strategy* find_strategy(const char* name) {
#define DEADHEAT_STRATEGY(name, object, chosen_by, meaning) &(object),
  const Strategy* const all[] = {DHT_STRATEGIES(DEADHEAT_STRATEGY)};
#undef DEADHEAT_STRATEGY
  for (const Strategy* one : all)
    if (__builtin_strcmp(one->name, name) == 0) return one;
  return nullptr;
}

namespace {

uint32_t created;

Thread* make_thread() {
  auto* const thread = arena_new<Thread>();
  if (thread != nullptr) thread->common.number = created++;
  return thread;
}

void remove_lock(Thread& thread, Address lock) {
  for (uint32_t i = thread.held_count < kMaxHeld ? thread.held_count : kMaxHeld; i-- > 0;) {
    if (thread.held[i] != lock) continue;
    for (; i + 1 < thread.held_count && i + 1 < kMaxHeld; ++i) thread.held[i] = thread.held[i + 1];
    --thread.held_count;
    return;
  }
}

}  // namespace

void mode_start() {
  read_trial();
  strategy = find_strategy(trial().strategy);
  if (strategy == nullptr) {
    say("trial_path: unknown strategy");
    exit_process(77);
  }
  Thread* const main = make_thread();
  if (main == nullptr) exit_process(77);
  main->common.kernel_id = kernel_thread_id();
  main->state = State::kRunning;
  thread_created(*main);
  holder = main;
  tls_self = main;
  strategy->start(trial().seed);
  start_clock();
  start_release_clock();
  pin_to_processor();
  start_reports();
  start_decision_log();
  plug_sites();
  catch_crashes();
}

void mode_finish() { finish_reports(); }
int mode_exit_code(int status) { return status; }

void mode_before_fork(Thread*) {
  schedule_lock.lock();
  ++counts.forks;
}
void mode_after_fork_parent(Thread*) { schedule_lock.unlock(); }
void mode_after_fork_child(Thread* self) {
  stop_decision_log();
  monitor_after_fork();
  only_thread(*self);
  self->common.kernel_id = kernel_thread_id();
  start_reports();
}

Thread* on_thread_create(Thread* parent, Address pc) {
  Thread* const thread = make_thread();
  if (thread == nullptr) return nullptr;
  thread->common.parent = parent->common.number;
  thread->creation_pc = pc;
  thread_created(*thread);
  start_monitor();
  linger_at_exit();
  return thread;
}

void on_thread_cancel_create(Thread*, Thread* never_started) {
  never_created(*never_started);
  arena_free(never_started, sizeof *never_started);
}

void on_thread_start(Thread* self) {
  self->common.kernel_id = kernel_thread_id();
  thread_started(*self);
}

void on_thread_finish(Thread* self) {
  const bool detached = self->common.detached;
  tls_self = nullptr;
  thread_ended(*self);
  if (detached) arena_free(self, sizeof *self);
}

void on_thread_join(Thread*, Thread* joined, Address) {
  {
    const Locked locked(schedule_lock);
    forget_thread(*joined);
  }
  arena_free(joined, sizeof *joined);
}

void on_thread_detach(Thread* detached) {
  bool over = false;
  {
    const Locked locked(schedule_lock);
    detached->common.detached = true;
    over = detached->state == State::kEnded;
    if (over) forget_thread(*detached);
  }
  if (over) arena_free(detached, sizeof *detached);
}

void on_thread_name(Thread* thread, const char* name) {
  __builtin_strncpy(thread->common.name, name, sizeof thread->common.name - 1);
}

void on_lock(Thread* self, Address, Address lock, bool) {
  if (self->held_count < kMaxHeld) self->held[self->held_count] = lock;
  ++self->held_count;
}
void on_unlock(Thread* self, Address, Address lock, bool) { remove_lock(*self, lock); }

// A use concurrent with the free of its block is a race of the candidate like any other.
void on_free(Thread* self, Address pc, Address block, size_t size) {
  if (self->common.inside != 0 || self->common.critical != 0 || alone(*self) || !is_site(pc))
    return;
  const Next next = {.point = Point::kAccess,
                     .pc = pc,
                     .object = block,
                     .size = size,
                     .write = true,
                     .freed = true};
  point_at(*self, next, true);
}

void on_range(Thread*, Address, Address, size_t, bool) {}  // mode_before_range
void on_lock_destroy(Thread*, Address, Address) {}
void on_notify(Thread*, Address, Address) {}
void on_wait(Thread*, Address, Address) {}
void on_barrier_init(Thread*, Address, Address, uint32_t) {}
void on_barrier_enter(Thread*, Address, Address) {}
void on_barrier_leave(Thread*, Address, Address) {}
void on_semaphore_post(Thread*, Address, Address) {}
void on_semaphore_wait(Thread*, Address, Address) {}
void on_once_done(Thread*, Address, Address) {}
void on_once_seen(Thread*, Address, Address) {}
void on_happens_before(Thread*, Address, Address) {}
void on_happens_after(Thread*, Address, Address) {}
void on_send_begin(Thread*, Address, Address) {}
void on_send_read(Thread*, Address, Address, size_t) {}
void on_send_end(Thread*, Address) {}
void on_fence(Thread*, Address, MemoryOrder) {}
void on_alloc(Thread*, Address, Address, size_t) {}
void on_fresh(Thread*, Address, Address, size_t) {}
void on_memory_reset(Thread*, Address, size_t) {}
void on_region_begin(Thread*, Address, Address, const Address*, size_t) {}
void on_region_end(Thread*, Address, const Address*, size_t) {}
void on_ignore_begin(Thread*, bool, bool, bool) {}
void on_ignore_end(Thread*, bool, bool, bool) {}
void on_benign_race(Thread*, Address, size_t, const char*) {}
Address thread_stack_end(Address) { return 0; }  // what a region reaches is not needed here
Thread* on_signal_begin(Thread*) {
  ++counts.signals;  // we do not decide when it is sent, or by whom
  return nullptr;
}
void on_signal_end(Thread*) {}

}  // namespace deadheat::runtime
