// Threads: a trampoline runs before the program's start routine. A TLS key of ours, whose
// destructor defers itself to the last round, tells when the last of the program's TLS destructors
// has run (C++ thread_local ones run before all keys).
//
// pthread_exit, thrd_exit and cancellation end in the same TLS destruction and need no interceptor.
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>

#include "runtime/common/arena.h"
#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/signals.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/intercept/thread_table.h"
#include "runtime/common/intercept/unseen_threads.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

// Shared by the creating and the created thread; the last one frees it.
struct ThreadStart {
  void* (*routine)(void*);
  int (*c11_routine)(void*);
  void* argument;
  Thread* thread;
  bool joinable;
  uint32_t users;
  Lock lock;
  bool listed;
  uint32_t entered;  // a futex: the created thread is about to run the program's routine
  bool masked;       // the thread begins with all signals blocked, and then gets `mask`
  sigset_t mask;
};

namespace {

REAL_FUNCTION(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old))

// A handler that runs in a thread before we know it would order unseen: the thread begins with its
// signals blocked, unless its attributes say otherwise.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(ThreadStart* start, const pthread_attr_t* attributes = nullptr) {
    sigset_t all, own;
    if (attributes != nullptr &&
        pthread_attr_getsigmask_np(attributes, &own) != PTHREAD_ATTR_NO_SIGMASK_NP)
      return;
    sigfillset(&all);
    start->masked = REAL(pthread_sigmask)(SIG_BLOCK, &all, &mask_) == 0;
    start->mask = mask_;
    masked_ = start->masked;
  }
  void end() const {
    if (masked_) REAL(pthread_sigmask)(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_ = {};
  bool masked_ = false;
};

pthread_key_t key;
uint32_t alive = 1;

void count_alive(int change) { __atomic_fetch_add(&alive, change, __ATOMIC_RELAXED); }

// Both the creating and the created thread call this, and the first lists the thread: a third
// thread may join the created one before pthread_create has returned. The name is read only if the
// created thread has not begun: later its memory may be freed.
void list_thread(ThreadStart* start, const pthread_t* name) {
  const Locked locked(start->lock);
  if (start->joinable && start->thread != nullptr && !start->listed)
    thread_table_add(*name, start->thread);
  start->listed = true;
}

// Our setup of a thread takes far longer than libc's. Without this wait, threads created one after
// the other all begin late and at once, in any order; a message from one to the next is then rarely
// seen, and code that depends on it does not run (a relaxed flag beside plain data: seen in 31 of
// 40 runs, with the wait in 36). The wait is short, since nothing may depend on it. Not in
// production, where a creation must take no longer than it does without us.
void await_entry(ThreadStart* start) {
  if (in_production()) return;
  constexpr timespec kLongest = {0, 2'000'000};
  const timespec* const longest = &kLongest;
  if (__atomic_load_n(&start->entered, __ATOMIC_ACQUIRE) == 0)
    system_call(SYS_futex, reinterpret_cast<long>(&start->entered), FUTEX_WAIT_PRIVATE, 0,
                reinterpret_cast<long>(longest));
}

void has_entered(ThreadStart* start) {
  if (in_production()) return;
  __atomic_store_n(&start->entered, 1, __ATOMIC_RELEASE);
  system_call(SYS_futex, reinterpret_cast<long>(&start->entered), FUTEX_WAKE_PRIVATE, 1);
}

void leave_start(ThreadStart* start) {
  if (__atomic_sub_fetch(&start->users, 1, __ATOMIC_ACQ_REL) == 0) arena_free(start, sizeof *start);
}

struct Stack {
  void* begin = nullptr;
  size_t size = 0;
};

// Including the static TLS inside it. This allocates, unseen while self() is null.
Stack own_stack() {
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  pthread_attr_getstack(&attributes, &stack.begin, &stack.size);
  pthread_attr_destroy(&attributes);
  return stack;
}

void thread_ends(void* value) {
  if (local.destructor_rounds > 1) {
    --local.destructor_rounds;
    pthread_setspecific(key, value);
    return;
  }
  leave_fibers();
  Thread* const thread = self();
  if (thread == nullptr) return;
  // A signal handler that arrives now must not find a half-removed thread, nor run unseen.
  sigset_t all;
  sigfillset(&all);
  REAL(pthread_sigmask)(SIG_BLOCK, &all, nullptr);
  tls_self = nullptr;
  leave_robust_mutexes(thread);
  on_thread_finish(thread);
  count_alive(-1);
}

void watch_end(Thread* thread) {
  local.destructor_rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
  pthread_setspecific(key, thread);
}

void begin_thread(Thread* thread) {
  watch_end(thread);
  const Stack stack = own_stack();
  const Inside inside(thread);
  tls_self = thread;
  on_thread_start(thread);
  if (stack.size != 0) on_memory_reset(thread, address_of(stack.begin), stack.size);
}

void enter_thread(ThreadStart* start) {
  Thread* const thread = start->thread;
  const pthread_t name = pthread_self();
  list_thread(start, &name);
  if (thread != nullptr) begin_thread(thread);
  if (start->masked) REAL(pthread_sigmask)(SIG_SETMASK, &start->mask, nullptr);
  has_entered(start);
  leave_start(start);
}

// What follows is libraries' code: destructors of a thread's variables, and what C++ does "at
// thread exit".
void leaves_program() {
  if (in_production() && self() != nullptr) on_region_begin(self(), 0, 0, nullptr, 0);
}

CALLS_PROGRAM void* run_thread(void* argument) {
  auto* const start = static_cast<ThreadStart*>(argument);
  const auto routine = start->routine;
  void* const own_argument = start->argument;
  enter_thread(start);
  void* const result = routine(own_argument);
  leaves_program();
  return result;
}

CALLS_PROGRAM int run_c11_thread(void* argument) {
  auto* const start = static_cast<ThreadStart*>(argument);
  const auto routine = start->c11_routine;
  void* const own_argument = start->argument;
  enter_thread(start);
  const int result = routine(own_argument);
  leaves_program();
  return result;
}

ThreadStart* prepare(Thread* parent, Address pc, void* argument, bool joinable) {
  auto* const start = arena_new<ThreadStart>();
  if (start == nullptr) return nullptr;
  start->argument = argument;
  start->joinable = joinable;
  start->users = 2;
  start->thread = on_thread_create(parent, pc);
  if (!joinable && start->thread != nullptr) on_thread_detach(start->thread);
  if (start->thread != nullptr) count_alive(1);
  return start;
}

void begins_with(ThreadStart* start, Address routine) {
  if (start->thread != nullptr) common(start->thread).routine = routine;
}

void give_up(Thread* parent, ThreadStart* start) {
  if (start->thread != nullptr) {
    on_thread_cancel_create(parent, start->thread);
    count_alive(-1);
  }
  arena_free(start, sizeof *start);
}

void was_joined(pthread_t name, Thread* joined, Address pc) {
  if (joined == nullptr) return;
  thread_table_remove(name, joined);
  if (self() != nullptr) on_thread_join(self(), joined, pc);
}

// The real join then waits only for the last steps of a finished thread.
bool await_end(Thread* other, Address pc, clockid_t clock = 0, const timespec* until = nullptr) {
  Thread* const thread = self();
  if (other == nullptr || other == thread || !scheduled(thread)) return true;
  return mode_await_end(thread, pc, other,
                        until == nullptr ? kForever : mode_deadline(clock, until));
}

// Before the real detach: afterwards the name may be another thread's.
void will_detach(pthread_t name) {
  Thread* const thread = thread_table_find(name);
  if (thread == nullptr) return;
  thread_table_remove(name, thread);
  on_thread_detach(thread);
}

}  // namespace

void threads_start() {
  pthread_key_create(&key, thread_ends);
  if (self() == nullptr) return;
  thread_table_add(pthread_self(), self());
  watch_end(self());
}

void threads_before_fork() { thread_table_lock(); }
void threads_after_fork(bool child) {
  thread_table_unlock();
  if (child) alive = 1;
}

uint32_t threads_alive() { return __atomic_load_n(&alive, __ATOMIC_RELAXED); }

INTERCEPT(int, pthread_create,
          (pthread_t * name, const pthread_attr_t* attributes, void* (*routine)(void*),
           void* argument)) {
  start_runtime();
  Thread* const parent = self();
  if (parent == nullptr) thread_is_unseen();
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &detached);
  ThreadStart* const start =
      parent == nullptr ? nullptr
                        : prepare(parent, CALLER, argument, detached == PTHREAD_CREATE_JOINABLE);
  if (start == nullptr) return REAL(pthread_create)(name, attributes, routine, argument);
  start->routine = routine;
  begins_with(start, reinterpret_cast<Address>(routine));
  const SignalsBlocked blocked(start, attributes);
  const int result = REAL(pthread_create)(name, attributes, run_thread, start);
  blocked.end();
  if (result == 0) {
    list_thread(start, name);
    if (!scheduled(parent)) await_entry(start);
    leave_start(start);
    point(parent, CALLER, Point::kCreate, nullptr);
  } else {
    give_up(parent, start);
  }
  return result;
}

INTERCEPT(int, pthread_join, (pthread_t name, void** value)) {
  Thread* const joined = thread_table_find(name);
  await_end(joined, CALLER);
  const int result = REAL(pthread_join)(name, value);
  if (result == 0) was_joined(name, joined, CALLER);
  return result;
}

INTERCEPT(int, pthread_tryjoin_np, (pthread_t name, void** value)) {
  Thread* const joined = thread_table_find(name);
  const int result = REAL(pthread_tryjoin_np)(name, value);
  if (result == 0) was_joined(name, joined, CALLER);
  return result;
}

INTERCEPT(int, pthread_timedjoin_np, (pthread_t name, void** value, const timespec* until)) {
  Thread* const joined = thread_table_find(name);
  if (!await_end(joined, CALLER, CLOCK_REALTIME, until)) return ETIMEDOUT;
  const int result = REAL(pthread_timedjoin_np)(name, value, until);
  if (result == 0) was_joined(name, joined, CALLER);
  return result;
}

INTERCEPT(int, pthread_clockjoin_np,
          (pthread_t name, void** value, clockid_t clock, const timespec* until)) {
  Thread* const joined = thread_table_find(name);
  if (!await_end(joined, CALLER, clock, until)) return ETIMEDOUT;
  const int result = REAL(pthread_clockjoin_np)(name, value, clock, until);
  if (result == 0) was_joined(name, joined, CALLER);
  return result;
}

INTERCEPT(int, pthread_detach, (pthread_t name)) {
  will_detach(name);
  return REAL(pthread_detach)(name);
}

INTERCEPT(int, pthread_setname_np, (pthread_t name, const char* text)) {
  const int result = REAL(pthread_setname_np)(name, text);
  Thread* const named = pthread_equal(name, pthread_self()) ? self() : thread_table_find(name);
  if (result == 0 && named != nullptr) on_thread_name(named, text);
  return result;
}

INTERCEPT(int, prctl, (int option, long a, long b, long c, long d)) {
  const int result = REAL(prctl)(option, a, b, c, d);
  if (result == 0 && option == PR_SET_NAME && self() != nullptr)
    on_thread_name(self(), reinterpret_cast<const char*>(a));
  return result;
}

INTERCEPT(int, thrd_create, (thrd_t * name, thrd_start_t routine, void* argument)) {
  start_runtime();
  Thread* const parent = self();
  if (parent == nullptr) thread_is_unseen();
  ThreadStart* const start = parent == nullptr ? nullptr : prepare(parent, CALLER, argument, true);
  if (start == nullptr) return REAL(thrd_create)(name, routine, argument);
  start->c11_routine = routine;
  begins_with(start, reinterpret_cast<Address>(routine));
  const SignalsBlocked blocked(start);
  const int result = REAL(thrd_create)(name, run_c11_thread, start);
  blocked.end();
  if (result == thrd_success) {
    list_thread(start, name);
    if (!scheduled(parent)) await_entry(start);
    leave_start(start);
    point(parent, CALLER, Point::kCreate, nullptr);
  } else {
    give_up(parent, start);
  }
  return result;
}

INTERCEPT(int, thrd_join, (thrd_t name, int* value)) {
  Thread* const joined = thread_table_find(name);
  await_end(joined, CALLER);
  const int result = REAL(thrd_join)(name, value);
  if (result == thrd_success) was_joined(name, joined, CALLER);
  return result;
}

INTERCEPT(int, thrd_detach, (thrd_t name)) {
  will_detach(name);
  return REAL(thrd_detach)(name);
}

}  // namespace deadheat::runtime
