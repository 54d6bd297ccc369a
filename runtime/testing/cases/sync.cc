// Barriers, semaphores, once, static guards, C11's locks.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "runtime/testing/cases/case.h"

namespace {

const timespec kPast = {0, 0};

}  // namespace

CASE(barrier, R"(
T0 create 1
T0 barrier_enter b
T0 barrier_leave b
T0 join 1
T1 start
T1 barrier_enter b
T1 barrier_leave b
T1 thread_finish
)") {
  static pthread_barrier_t b;
  pthread_barrier_init(&b, nullptr, 2);
  NAME(b);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_barrier_wait(&b);
        return nullptr;
      },
      nullptr);
  pthread_barrier_wait(&b);
  pthread_join(thread, nullptr);
  pthread_barrier_destroy(&b);
}

CASE(semaphore, R"(
T0 semaphore_post s
T0 semaphore_wait s
T0 semaphore_post s
T0 semaphore_wait s
T0 semaphore_post s
T0 semaphore_wait s
T0 semaphore_post s
T0 semaphore_wait s
)") {
  sem_t s;
  NAME(s);
  CHECK(sem_init(&s, 0, 0) == 0);
  errno = 0;
  CHECK(sem_trywait(&s) == -1 && errno == EAGAIN);
  CHECK(sem_timedwait(&s, &kPast) == -1 && errno == ETIMEDOUT);
  CHECK(sem_clockwait(&s, CLOCK_MONOTONIC, &kPast) == -1 && errno == ETIMEDOUT);
  QUIET(CHECK(sem_post(&s) == 0));
  QUIET(CHECK(sem_wait(&s) == 0));
  sem_post(&s);
  CHECK(sem_trywait(&s) == 0);
  sem_post(&s);
  CHECK(sem_timedwait(&s, &kPast) == 0);
  sem_post(&s);
  CHECK(sem_clockwait(&s, CLOCK_MONOTONIC, &kPast) == 0);
  CHECK(sem_destroy(&s) == 0);
}

CASE(once, R"(
T0 mark inside
T0 once_done o
T0 once_seen o
T0 once_seen o
T0 mark c11
T0 mark inside
T0 once_done f
T0 once_seen f
)") {
  static pthread_once_t o = PTHREAD_ONCE_INIT;
  static once_flag f = ONCE_FLAG_INIT;
  NAME(o);
  NAME(f);
  const auto body = [] { mark("inside"); };
  CHECK(pthread_once(&o, body) == 0);
  CHECK(pthread_once(&o, body) == 0);
  mark("c11");
  call_once(&f, body);
}

CASE(once_inside_once, R"(
T0 mark inner
T0 once_done inner
T0 once_seen inner
T0 once_done outer
T0 once_seen outer
)") {
  static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
  NAME(outer);
  NAME(inner);
  pthread_once(&outer, [] { pthread_once(&inner, [] { mark("inner"); }); });
}

extern "C" int __cxa_guard_acquire(long long*);
extern "C" void __cxa_guard_release(long long*);
extern "C" void __cxa_guard_abort(long long*);

CASE(static_guard, R"(
T0 mark threw
T0 once_done guard
T0 atomic guard 1
T0 once_seen guard
)") {
  static long long guard;
  NAME(guard);
  CHECK(__cxa_guard_acquire(&guard) == 1);
  mark("threw");
  __cxa_guard_abort(&guard);
  CHECK(__cxa_guard_acquire(&guard) == 1);
  __cxa_guard_release(&guard);
  CHECK(*reinterpret_cast<char*>(&guard) == 1);
  CHECK(__cxa_guard_acquire(&guard) == 0);
}

CASE(static_guard_is_waited_for, R"(
T0 create 1
T0 once_done guard
T0 atomic guard 1
T0 join 1
T1 start
T1 once_seen guard
T1 thread_finish
)") {
  static long long guard;
  NAME(guard);
  CHECK(__cxa_guard_acquire(&guard) == 1);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        CHECK(__cxa_guard_acquire(&guard) == 0);
        return nullptr;
      },
      nullptr);
  __cxa_guard_release(&guard);
  pthread_join(thread, nullptr);
}

CASE(c11_mutex_and_condition, R"(
T0 lock m
T0 unlock m
T0 lock m
T0 notify c
T0 notify c
T0 unlock m
T0 lock m
T0 unlock m
T0 lock_destroy m
)") {
  mtx_t m;
  cnd_t c;
  NAME(m);
  NAME(c);
  CHECK(mtx_init(&m, mtx_timed) == thrd_success);
  CHECK(cnd_init(&c) == thrd_success);
  CHECK(mtx_lock(&m) == thrd_success);
  CHECK(mtx_trylock(&m) == thrd_busy);
  CHECK(mtx_timedlock(&m, &kPast) == thrd_timedout);
  CHECK(cnd_timedwait(&c, &m, &kPast) == thrd_timedout);
  cnd_signal(&c);
  cnd_broadcast(&c);
  CHECK(mtx_unlock(&m) == thrd_success);
  CHECK(mtx_trylock(&m) == thrd_success);
  mtx_unlock(&m);
  cnd_destroy(&c);
  mtx_destroy(&m);
}
