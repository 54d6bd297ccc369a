// Condition variables. A wait releases its mutex, and holds it again however it ends: woken, timed
// out, or cancelled (then glibc acquires the mutex before the program's cleanup handlers run, and
// so do we). The default symbol version is named explicitly: dlsym may return the one of 1998.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

struct Wait {
  Thread* thread;
  Address pc;
  Address condition;
  Address mutex;
};

void holds_again(void* data) {
  const auto& wait = *static_cast<Wait*>(data);
  on_lock(wait.thread, wait.pc, wait.mutex, false);
}

// `call` does the real wait; `woken` is its result if it was woken. EINVAL and EPERM are returned
// before the mutex is released, so the mode sees an unlock and a lock that did not happen: this
// hides only a misuse.
template <typename Call>
int wait_on(void* condition, void* mutex, Address pc, int woken, Call call) {
  Thread* const thread = self();
  if (thread == nullptr) return call();
  Wait wait{thread, pc, address_of(condition), address_of(mutex)};
  was_read(thread, pc, condition, 1);
  on_unlock(thread, pc, wait.mutex, false);
  int result;
  pthread_cleanup_push(holds_again, &wait);
  result = call();
  pthread_cleanup_pop(0);
  on_lock(thread, pc, wait.mutex, false);
  if (result == woken) on_wait(thread, pc, wait.condition);
  return result;
}

REAL_FUNCTION(int, pthread_mutex_trylock, (pthread_mutex_t * mutex))
REAL_FUNCTION(int, pthread_mutex_unlock, (pthread_mutex_t * mutex))

struct Relock {
  Blocking how;
  pthread_mutex_t* mutex;
};

int lock_again(const Relock& lock) {
  const auto attempt = [&] { return REAL(pthread_mutex_trylock)(lock.mutex); };
  const int result = block_until(lock.how, attempt, attempt);
  on_lock(lock.how.thread, lock.how.pc, address_of(lock.mutex), false);
  return result;
}

// The mode keeps the waiters; the real condition variable is not used. Nothing can happen between
// releasing the mutex and waiting, because no other thread runs.
int scheduled_wait(void* condition, void* mutex, Address pc, uint64_t deadline_ns, int timed_out) {
  Thread* const thread = self();
  const Relock lock{{thread, pc, Point::kLock, mutex}, static_cast<pthread_mutex_t*>(mutex)};
  mode_point(thread, pc, Point::kWait, address_of(condition));
  was_read(thread, pc, condition, 1);
  on_unlock(thread, pc, address_of(mutex), false);
  const int unlocked = REAL(pthread_mutex_unlock)(lock.mutex);
  if (unlocked != 0) {
    on_lock(thread, pc, address_of(mutex), false);
    return unlocked;
  }
  released(mutex);
  const Woken woken = mode_block(thread, pc, Point::kWait, address_of(condition), deadline_ns);
  const int relocked = lock_again(lock);
  if (woken == Woken::kInterrupted) pthread_testcancel();
  if (relocked != 0) return relocked;  // its owner died
  if (woken == Woken::kTimedOut) return timed_out;
  on_wait(thread, pc, address_of(condition));
  return 0;
}

// Waits of other processes are invisible to us: use libc's own then.
bool is_private(const pthread_cond_t* condition) { return (condition->__data.__wrefs & 1) == 0; }

bool takes_over(const void* condition) {
  return scheduled(self()) && is_private(static_cast<const pthread_cond_t*>(condition));
}

void notifies(void* condition, Address pc, uint32_t count) {
  if (nothing_to_do()) return;
  Thread* const thread = self();
  if (thread == nullptr) return;
  point(thread, pc, Point::kNotify, condition);
  on_notify(thread, pc, address_of(condition));
  // After the edge to the woken thread: the call still uses the condition then, and it must not
  // have been freed.
  was_read(thread, pc, condition, 1);
  released(condition, count);
}

}  // namespace

#define CONDITION(result, name, parameters) \
  INTERCEPT_VERSION(result, name, "GLIBC_2.3.2", parameters)

CONDITION(int, pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t* how)) {
  const int result = REAL(pthread_cond_init)(condition, how);
  if (result == 0) was_written(self(), CALLER, condition, 1);
  return result;
}

CONDITION(int, pthread_cond_destroy, (pthread_cond_t * condition)) {
  was_written(self(), CALLER, condition, 1);
  return REAL(pthread_cond_destroy)(condition);
}

CONDITION(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex)) {
  if (takes_over(condition)) return scheduled_wait(condition, mutex, CALLER, kForever, 0);
  return wait_on(condition, mutex, CALLER, 0,
                 [=] { return REAL(pthread_cond_wait)(condition, mutex); });
}

CONDITION(int, pthread_cond_timedwait,
          (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until)) {
  if (takes_over(condition)) {
    constexpr unsigned kMonotonic = 2;
    const clockid_t clock =
        (condition->__data.__wrefs & kMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return scheduled_wait(condition, mutex, CALLER, mode_deadline(clock, until), ETIMEDOUT);
  }
  return wait_on(condition, mutex, CALLER, 0,
                 [=] { return REAL(pthread_cond_timedwait)(condition, mutex, until); });
}

INTERCEPT(int, pthread_cond_clockwait,
          (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock,
           const timespec* until)) {
  if (takes_over(condition))
    return scheduled_wait(condition, mutex, CALLER, mode_deadline(clock, until), ETIMEDOUT);
  return wait_on(condition, mutex, CALLER, 0,
                 [=] { return REAL(pthread_cond_clockwait)(condition, mutex, clock, until); });
}

CONDITION(int, pthread_cond_signal, (pthread_cond_t * condition)) {
  notifies(condition, CALLER, 1);
  return REAL(pthread_cond_signal)(condition);
}

CONDITION(int, pthread_cond_broadcast, (pthread_cond_t * condition)) {
  notifies(condition, CALLER, kAll);
  return REAL(pthread_cond_broadcast)(condition);
}

#undef CONDITION

INTERCEPT(int, cnd_init, (cnd_t * condition)) {
  const int result = REAL(cnd_init)(condition);
  if (result == thrd_success) was_written(self(), CALLER, condition, 1);
  return result;
}

INTERCEPT(void, cnd_destroy, (cnd_t * condition)) {
  was_written(self(), CALLER, condition, 1);
  REAL(cnd_destroy)(condition);
}

INTERCEPT(int, cnd_wait, (cnd_t * condition, mtx_t* mutex)) {
  if (takes_over(condition))
    return scheduled_wait(condition, mutex, CALLER, kForever, 0) == 0 ? thrd_success : thrd_error;
  return wait_on(condition, mutex, CALLER, thrd_success,
                 [=] { return REAL(cnd_wait)(condition, mutex); });
}

INTERCEPT(int, cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until)) {
  if (takes_over(condition)) {
    const int result =
        scheduled_wait(condition, mutex, CALLER, mode_deadline(CLOCK_REALTIME, until), ETIMEDOUT);
    return result == 0 ? thrd_success : result == ETIMEDOUT ? thrd_timedout : thrd_error;
  }
  return wait_on(condition, mutex, CALLER, thrd_success,
                 [=] { return REAL(cnd_timedwait)(condition, mutex, until); });
}

INTERCEPT(int, cnd_signal, (cnd_t * condition)) {
  notifies(condition, CALLER, 1);
  return REAL(cnd_signal)(condition);
}

INTERCEPT(int, cnd_broadcast, (cnd_t * condition)) {
  notifies(condition, CALLER, kAll);
  return REAL(cnd_broadcast)(condition);
}

}  // namespace deadheat::runtime
