// Mutexes, read-write locks, spin locks, conditions.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "runtime/testing/cases/case.h"

namespace {

const timespec kPast = {0, 0};

void* run_and_wait(void* (*body)(void*), void* argument) {
  pthread_t thread;
  void* result = nullptr;
  CHECK(pthread_create(&thread, nullptr, body, argument) == 0);
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}

}  // namespace

CASE(mutex, R"(
T0 lock m
T0 unlock m
T0 lock m
T0 unlock m
T0 lock m
T0 unlock m
T0 lock m
T0 unlock m
T0 lock_destroy m
)") {
  pthread_mutex_t m;
  NAME(m);
  QUIET(pthread_mutex_init(&m, nullptr));
  QUIET(pthread_mutex_lock(&m));
  QUIET(pthread_mutex_unlock(&m));
  QUIET(CHECK(pthread_mutex_trylock(&m) == 0));
  QUIET(pthread_mutex_unlock(&m));
  QUIET(CHECK(pthread_mutex_timedlock(&m, &kPast) == 0));
  QUIET(pthread_mutex_unlock(&m));
  QUIET(CHECK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &kPast) == 0));
  QUIET(pthread_mutex_unlock(&m));
  QUIET(pthread_mutex_destroy(&m));
}

CASE(mutex_that_is_not_had, R"(
T0 lock m
T0 create 1
T1 start
T1 thread_finish
T0 join 1
T0 unlock m
)") {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  NAME(m);
  pthread_mutex_lock(&m);
  run_and_wait(
      [](void*) -> void* {
        QUIET(CHECK(pthread_mutex_trylock(&m) == EBUSY));
        CHECK(pthread_mutex_timedlock(&m, &kPast) == ETIMEDOUT);
        CHECK(pthread_mutex_clocklock(&m, CLOCK_REALTIME, &kPast) == ETIMEDOUT);
        return nullptr;
      },
      nullptr);
  pthread_mutex_unlock(&m);
}

CASE(mutex_that_checks, R"(
T0 lock m
T0 unlock m
T0 mark recursive
T0 lock r
T0 lock r
T0 unlock r
T0 unlock r
)") {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t m, r;
  pthread_mutex_init(&m, &how);
  NAME(m);
  CHECK(pthread_mutex_unlock(&m) == EPERM);
  CHECK(pthread_mutex_lock(&m) == 0);
  CHECK(pthread_mutex_lock(&m) == EDEADLK);
  CHECK(pthread_mutex_destroy(&m) == EBUSY);
  CHECK(pthread_mutex_unlock(&m) == 0);
  mark("recursive");
  pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&r, &how);
  NAME(r);
  CHECK(pthread_mutex_lock(&r) == 0);
  CHECK(pthread_mutex_trylock(&r) == 0);
  CHECK(pthread_mutex_unlock(&r) == 0);
  CHECK(pthread_mutex_unlock(&r) == 0);
  CHECK(pthread_mutex_unlock(&r) == EPERM);
}

CASE(robust_mutex_of_a_dead_thread, R"(
T0 create 1
T1 start
T1 lock m
T1 unlock m
T1 thread_finish
T0 join 1
T0 lock m
T0 unlock m
)") {
  static pthread_mutex_t m;
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&m, &how);
  NAME(m);
  run_and_wait(
      [](void*) -> void* {
        CHECK(pthread_mutex_lock(&m) == 0);
        return nullptr;
      },
      nullptr);
  CHECK(pthread_mutex_lock(&m) == EOWNERDEAD);
  CHECK(pthread_mutex_consistent(&m) == 0);
  CHECK(pthread_mutex_unlock(&m) == 0);
}

SEEN_CASE(mutex_as_memory, R"(
T0 range_write m 1
T0 range_read m 1
T0 lock m
T0 unlock m
T0 range_write m 1
T0 lock_destroy m
)") {
  pthread_mutex_t m;
  NAME(m);
  pthread_mutex_init(&m, nullptr);
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  pthread_mutex_destroy(&m);
}

CASE(rwlock, R"(
T0 lock_shared l
T0 lock_shared l
T0 unlock_shared l
T0 unlock_shared l
T0 lock l
T0 unlock l
T0 lock_shared l
T0 unlock_shared l
T0 lock l
T0 unlock l
T0 lock_shared l
T0 unlock_shared l
T0 lock l
T0 unlock l
T0 lock_destroy l
)") {
  pthread_rwlock_t l;
  NAME(l);
  CHECK(pthread_rwlock_init(&l, nullptr) == 0);
  CHECK(pthread_rwlock_rdlock(&l) == 0);
  CHECK(pthread_rwlock_tryrdlock(&l) == 0);
  CHECK(pthread_rwlock_trywrlock(&l) == EBUSY);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_wrlock(&l) == 0);
  CHECK(pthread_rwlock_tryrdlock(&l) == EBUSY);
  CHECK(pthread_rwlock_rdlock(&l) == EDEADLK);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_timedrdlock(&l, &kPast) == 0);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_timedwrlock(&l, &kPast) == 0);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &kPast) == 0);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &kPast) == 0);
  CHECK(pthread_rwlock_unlock(&l) == 0);
  CHECK(pthread_rwlock_destroy(&l) == 0);
}

CASE(spin_lock, R"(
T0 lock s
T0 unlock s
T0 lock s
T0 unlock s
T0 lock_destroy s
)") {
  pthread_spinlock_t s;
  NAME(s);
  pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&s);
  CHECK(pthread_spin_trylock(&s) == EBUSY);
  pthread_spin_unlock(&s);
  CHECK(pthread_spin_trylock(&s) == 0);
  pthread_spin_unlock(&s);
  pthread_spin_destroy(&s);
}

CASE(condition, R"(
T0 lock m
T0 unlock m
T0 lock m
T0 unlock m
T0 lock m
T0 create 1
T0 unlock m
T0 lock m
T0 wait c
T0 unlock m
T1 start
T1 lock m
T1 notify c
T1 notify c
T1 unlock m
T1 thread_finish
T0 join 1
)") {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  NAME(m);
  NAME(c);
  pthread_mutex_lock(&m);
  CHECK(pthread_cond_timedwait(&c, &m, &kPast) == ETIMEDOUT);
  CHECK(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &kPast) == ETIMEDOUT);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&m);
        pthread_cond_signal(&c);
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
        return nullptr;
      },
      nullptr);
  CHECK(pthread_cond_wait(&c, &m) == 0);
  pthread_mutex_unlock(&m);
  pthread_join(thread, nullptr);
}

// The waiter holds the mutex again before its cleanup handlers run.
CASE(condition_wait_is_cancelled, R"(
T0 create 1
T0 lock m
T0 unlock m
T0 join 1
T1 start
T1 lock m
T1 unlock m
T1 lock m
T1 mark cleanup
T1 unlock m
T1 thread_finish
)") {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  static sem_t waits;
  NAME(m);
  sem_init(&waits, 0, 0);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&m);
        sem_post(&waits);
        pthread_cleanup_push(
            [](void*) {
              mark("cleanup");
              pthread_mutex_unlock(&m);
            },
            nullptr);
        for (;;) pthread_cond_wait(&c, &m);
        pthread_cleanup_pop(0);
      },
      nullptr);
  sem_wait(&waits);
  pthread_mutex_lock(&m);  // acquired only when the other thread waits
  pthread_mutex_unlock(&m);
  CHECK(pthread_cancel(thread) == 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  CHECK(result == PTHREAD_CANCELED);
}
