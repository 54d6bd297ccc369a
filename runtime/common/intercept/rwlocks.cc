// Read-write locks. Unlocking determines its side as glibc does: the lock contains the writer's id
// while it is held exclusively, and only its holder may unlock it.
#include <pthread.h>
#include <time.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

inline int locked(int result, Address pc, const pthread_rwlock_t* lock, bool shared) {
  if (result != 0 || nothing_to_do()) return result;
  Thread* const thread = self();
  if (thread == nullptr) return result;
  was_read(thread, pc, lock, 1);
  on_lock(thread, pc, address_of(lock), shared);
  return result;
}

REAL_FUNCTION(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock))
REAL_FUNCTION(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock))

template <typename Real>
int lock_rwlock(pthread_rwlock_t* lock, bool shared, Address pc, clockid_t clock,
                const timespec* until, Real real) {
  Blocking how{self(), pc, Point::kLock, lock};
  // libc tells a thread that already holds it for writing.
  if (scheduled(how.thread) && static_cast<uint32_t>(lock->__data.__cur_writer) == own_kernel_id())
    return locked(real(), pc, lock, shared);
  if (until != nullptr && scheduled(how.thread)) how.deadline_ns = mode_deadline(clock, until);
  const auto attempt = [=] {
    return shared ? REAL(pthread_rwlock_tryrdlock)(lock) : REAL(pthread_rwlock_trywrlock)(lock);
  };
  return locked(block_until(how, attempt, real), pc, lock, shared);
}

int try_rwlock(pthread_rwlock_t* lock, bool shared, Address pc) {
  point(self(), pc, Point::kTry, lock);
  return locked(
      shared ? REAL(pthread_rwlock_tryrdlock)(lock) : REAL(pthread_rwlock_trywrlock)(lock), pc,
      lock, shared);
}

}  // namespace

INTERCEPT(int, pthread_rwlock_init, (pthread_rwlock_t * lock, const pthread_rwlockattr_t* how)) {
  const int result = REAL(pthread_rwlock_init)(lock, how);
  if (result == 0) was_written(self(), CALLER, lock, 1);
  return result;
}

INTERCEPT(int, pthread_rwlock_destroy, (pthread_rwlock_t * lock)) {
  const int result = REAL(pthread_rwlock_destroy)(lock);
  Thread* const thread = self();
  if (result != 0 || thread == nullptr) return result;
  was_written(thread, CALLER, lock, 1);
  on_lock_destroy(thread, CALLER, address_of(lock));
  return result;
}

INTERCEPT(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock)) {
  return lock_rwlock(lock, true, CALLER, 0, nullptr,
                     [=] { return REAL(pthread_rwlock_rdlock)(lock); });
}

EXPORTED int intercept_tryrdlock(pthread_rwlock_t* lock) __asm__("pthread_rwlock_tryrdlock");
extern "C" int intercept_tryrdlock(pthread_rwlock_t* lock) {
  return try_rwlock(lock, true, CALLER);
}

INTERCEPT(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const timespec* until)) {
  return lock_rwlock(lock, true, CALLER, CLOCK_REALTIME, until,
                     [=] { return REAL(pthread_rwlock_timedrdlock)(lock, until); });
}

INTERCEPT(int, pthread_rwlock_clockrdlock,
          (pthread_rwlock_t * lock, clockid_t clock, const timespec* until)) {
  return lock_rwlock(lock, true, CALLER, clock, until,
                     [=] { return REAL(pthread_rwlock_clockrdlock)(lock, clock, until); });
}

INTERCEPT(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock)) {
  return lock_rwlock(lock, false, CALLER, 0, nullptr,
                     [=] { return REAL(pthread_rwlock_wrlock)(lock); });
}

EXPORTED int intercept_trywrlock(pthread_rwlock_t* lock) __asm__("pthread_rwlock_trywrlock");
extern "C" int intercept_trywrlock(pthread_rwlock_t* lock) {
  return try_rwlock(lock, false, CALLER);
}

INTERCEPT(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const timespec* until)) {
  return lock_rwlock(lock, false, CALLER, CLOCK_REALTIME, until,
                     [=] { return REAL(pthread_rwlock_timedwrlock)(lock, until); });
}

INTERCEPT(int, pthread_rwlock_clockwrlock,
          (pthread_rwlock_t * lock, clockid_t clock, const timespec* until)) {
  return lock_rwlock(lock, false, CALLER, clock, until,
                     [=] { return REAL(pthread_rwlock_clockwrlock)(lock, clock, until); });
}

INTERCEPT(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock)) {
  const bool shared = __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) == 0;
  if (!nothing_to_do() && self() != nullptr) on_unlock(self(), CALLER, address_of(lock), shared);
  const int result = REAL(pthread_rwlock_unlock)(lock);
  released(lock);
  return result;
}

}  // namespace deadheat::runtime
