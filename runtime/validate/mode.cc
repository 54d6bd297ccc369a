// The life of the process and its threads in validation, and which events order. Every event tests
// `tracking` first: while nothing is watched, that is the cost of synchronisation.
#include "runtime/common/arena.h"
#include "runtime/common/intercept/signals.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/reach.h"
#include "runtime/validate/budget.h"
#include "runtime/validate/hooked_sites.h"
#include "runtime/validate/infer.h"
#include "runtime/validate/jobs.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

ThreadCommon& common(Thread* thread) { return thread->common; }

namespace {

uint32_t created;
constexpr Address kReaders = 1;  // besides the lock's own address: what readers released

Thread* make_thread() {
  auto* const thread = arena_new<Thread>();
  if (thread == nullptr) return nullptr;
  thread->common.number = __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);
  thread->word = word_of_thread(thread->common.number);
  return thread;
}

bool counts(const Thread* self) { return is_tracking() && self->ignore_sync == 0; }

void releases(Thread* self, Address object) {
  if (!counts(self)) return;
  const Inside inside(self);
  release(*self, object);
}

// To an object of the kernel's, from which code that we do not see may receive as well.
void tells_all(Thread* self, Address object) {
  if (!counts(self)) return;
  const Inside inside(self);
  release_atomic(*self, object);
}

void acquires(Thread* self, Address object) {
  if (!counts(self)) return;
  const Inside inside(self);
  acquire(*self, object);
}

void note_lock(Thread& self, Address lock) {
  if (self.stretch != stretch) {
    self.stretch = stretch;
    self.held_count = 0;
  }
  if (self.held_count < kMaxHeld) self.held[self.held_count] = lock;
  ++self.held_count;
}

// Locks acquired before there were jobs are not in the list.
void forget_lock(Thread& self, Address lock) {
  uint32_t i = self.held_count < kMaxHeld ? self.held_count : kMaxHeld;
  while (i > 0 && self.held[i - 1] != lock) --i;
  if (i == 0) {
    if (self.held_count > kMaxHeld) --self.held_count;
    return;
  }
  for (; i < self.held_count && i < kMaxHeld; ++i) self.held[i - 1] = self.held[i];
  --self.held_count;
}

}  // namespace

void mode_start() {
  // A production program must not be delayed at its end.
  const_cast<Options&>(runtime_options()).atexit_sleep_ms = 0;
  page_start();
  budget_start();
  Thread* const main = make_thread();
  if (main == nullptr) return;
  main->common.kernel_id = kernel_thread_id();
  thread_begins(*main, nullptr);
  tls_self = main;
  hooked_start();
}

void mode_finish() { page_finish(); }
int mode_exit_code(int status) { return status; }

void mode_before_fork(Thread*) { state_lock.lock(); }
void mode_after_fork_parent(Thread*) { state_lock.unlock(); }
void mode_after_fork_child(Thread* self) {
  state_lock.reset();
  self->common.kernel_id = kernel_thread_id();
  jobs_after_fork(*self);
  objects_after_fork();
  if (page() == nullptr) return;
  infer_after_fork();
  page_after_fork();
}

Thread* on_thread_create(Thread* parent, Address) {
  Thread* const thread = make_thread();
  if (thread == nullptr) return nullptr;
  thread->common.parent = parent->common.number;
  const Inside inside(parent);
  thread_begins(*thread, parent);
  look_again();
  return thread;
}

void on_thread_cancel_create(Thread* parent, Thread* never_started) {
  const Inside inside(parent);
  thread_is_over(*never_started);
  arena_free(never_started, sizeof *never_started);
}

void on_thread_start(Thread* self) {
  self->common.kernel_id = kernel_thread_id();
  // A thread of a library that is not instrumented is in its code whenever it is not in ours.
  if (self->common.routine == 0) return;
  const Address routine = resolve_plt(self->common.routine);
  if (!is_instrumented_function(routine) && is_outside(routine + 1)) region_for_good(*self);
}

void on_thread_finish(Thread* self) {
  if (__builtin_expect(self->waits, 0)) pause_is_left(*self);  // cancelled, or ended by a handler
  thread_is_over(*self);
  bool nobody_joins = false;
  {
    const Locked locked(state_lock);
    self->common.finished = true;
    nobody_joins = self->common.detached;
  }
  if (nobody_joins) arena_free(self, sizeof *self);
}

void on_thread_join(Thread* self, Thread* joined, Address) {
  {
    const Inside inside(self);
    thread_was_joined(*self, *joined);
  }
  arena_free(joined, sizeof *joined);
}

void on_thread_detach(Thread* detached) {
  bool over = false;
  {
    const Locked locked(state_lock);
    detached->common.detached = true;
    over = detached->common.finished;
  }
  if (over) arena_free(detached, sizeof *detached);
}

void on_thread_name(Thread* thread, const char* name) {
  __builtin_strncpy(thread->common.name, name, sizeof thread->common.name - 1);
}

void on_lock(Thread* self, Address, Address lock, bool shared) {
  if (__builtin_expect(jobs_active(), 0)) note_lock(*self, lock);
  if (__builtin_expect(!is_tracking(), 1)) return;
  acquires(self, lock);
  if (!shared) acquires(self, lock + kReaders);
}
void on_unlock(Thread* self, Address, Address lock, bool shared) {
  if (__builtin_expect(self->held_count != 0, 0)) forget_lock(*self, lock);
  if (__builtin_expect(!is_tracking(), 1)) return;
  releases(self, shared ? lock + kReaders : lock);
}

void on_notify(Thread* self, Address, Address condition) { releases(self, condition); }
void on_wait(Thread* self, Address, Address condition) { acquires(self, condition); }
void on_barrier_init(Thread*, Address, Address, uint32_t) {}
void on_barrier_enter(Thread* self, Address, Address barrier) { releases(self, barrier); }
void on_barrier_leave(Thread* self, Address, Address barrier) { acquires(self, barrier); }
void on_semaphore_post(Thread* self, Address, Address semaphore) { releases(self, semaphore); }
void on_semaphore_wait(Thread* self, Address, Address semaphore) { acquires(self, semaphore); }
void on_semaphore_seen(Thread* self, Address, Address semaphore) { acquires(self, semaphore); }
void on_once_done(Thread* self, Address, Address once) { releases(self, once); }
void on_once_seen(Thread* self, Address, Address once) { acquires(self, once); }
void on_happens_before(Thread* self, Address, Address object) { tells_all(self, object); }
void on_happens_after(Thread* self, Address, Address object) { acquires(self, object); }
void on_send_begin(Thread* self, Address, Address object) { tells_all(self, object); }
void on_send_read(Thread*, Address, Address, size_t) {}
void on_send_end(Thread*, Address) {}

void on_free(Thread* self, Address, Address block, size_t size) {
  if (!is_tracking()) return;
  const Inside inside(self);
  memory_is_gone(block, size);
}
void on_memory_reset(Thread* self, Address begin, size_t size) {
  forget_arrays(begin, size);
  forget_hooked(begin, size);
  on_free(self, 0, begin, size);
}

void on_region_begin(Thread* self, Address, Address, const Address*, size_t) {
  region_begins(*self, reinterpret_cast<Address>(__builtin_frame_address(0)));
  if (!is_tracking()) return;
  const Inside inside(self);
  unseen_code(*self);
}
void on_region_end(Thread* self, Address, const Address*, size_t) {
  if (is_tracking()) {
    const Inside inside(self);
    unseen_code(*self);
  }
  region_ends(*self);
}

void on_ignore_begin(Thread* self, bool, bool, bool sync) { self->ignore_sync += sync ? 1 : 0; }
void on_ignore_end(Thread* self, bool, bool, bool sync) { self->ignore_sync -= sync ? 1 : 0; }

void on_range(Thread*, Address, Address, size_t, bool) {}
void on_lock_destroy(Thread*, Address, Address) {}
void on_alloc(Thread*, Address, Address, size_t) {}
void on_fresh(Thread*, Address, Address, size_t) {}
void on_benign_race(Thread*, Address, size_t, const char*) {}
Address thread_stack_end(Address) { return 0; }  // what a region reaches is not needed here
Thread* on_signal_begin(Thread* self) {
  if (__builtin_expect(self->waits, 0)) pause_is_interrupted(*self);
  return nullptr;
}
void on_jump(Thread* self, const Address*, const Address*) {
  if (__builtin_expect(self->waits, 0)) pause_is_left(*self);
}
void on_signal_end(Thread*) {}

}  // namespace deadheat::runtime
