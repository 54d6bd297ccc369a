// Mutexes and spin locks. Locking counts as the caller's read of the first byte, creation and
// destruction as writes: destroying or reinitialising a mutex while others use it is a race.
//
// Compiled twice, as all synchronisation that servers make often: with DEADHEAT_PRODUCTION a lock
// without interest costs a check.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

#ifdef DEADHEAT_PRODUCTION
constexpr bool kProduction = true;
#else
constexpr bool kProduction = false;
#endif

inline void locked(Address pc, const volatile void* lock) {
  if (nothing_to_do()) return;
  Thread* const thread = self();
  if (thread == nullptr) return;
  was_read(thread, pc, lock, 1);
  on_lock(thread, pc, address_of(lock), false);
}

constexpr int kRobust = 16;  // in the kind of a mutex
constexpr int kChecksOwner = PTHREAD_MUTEX_RECURSIVE | PTHREAD_MUTEX_ERRORCHECK;

bool is_robust(const pthread_mutex_t* mutex) { return (mutex->__data.__kind & kRobust) != 0; }

// Robust mutexes that the thread holds: it may end without releasing them.
void remember_robust(const pthread_mutex_t* mutex) {
  for (const pthread_mutex_t*& held : local.robust) {
    if (held != nullptr) continue;
    held = mutex;
    return;
  }
}

void forget_robust(const pthread_mutex_t* mutex) {
  for (const pthread_mutex_t*& held : local.robust)
    if (held == mutex) held = nullptr;
}

inline int spin_result(int result, Address pc, const volatile void* lock) {
  if (result == 0) locked(pc, lock);
  return result;
}

// In production, while nothing is watched.
[[maybe_unused]] inline bool nobody_asks(const pthread_mutex_t* mutex) {
  return nothing_to_do() && !is_robust(mutex);
}

// A robust mutex whose owner died is acquired all the same.
inline int lock_result(int result, Address pc, const pthread_mutex_t* lock) {
  if (result != 0 && result != EOWNERDEAD) return result;
  locked(pc, lock);
  if (__builtin_expect(is_robust(lock), 0)) remember_robust(lock);
  return result;
}

// Whether the real unlock will succeed. Mutexes without owner checks always unlock.
inline bool may_unlock(const pthread_mutex_t* mutex) {
  constexpr int kInheritsPriority = 32;
  if ((mutex->__data.__kind & (kChecksOwner | kRobust | kInheritsPriority)) == 0) return true;
  return static_cast<uint32_t>(mutex->__data.__owner) == own_kernel_id();
}

inline void unlocks(Address pc, const pthread_mutex_t* mutex) {
  Thread* const thread = self();
  if (thread == nullptr || !may_unlock(mutex)) return;
  if (__builtin_expect(is_robust(mutex), 0)) forget_robust(mutex);
  on_unlock(thread, pc, address_of(mutex), false);
}

void created(Address pc, const volatile void* lock) { was_written(self(), pc, lock, 1); }

void destroys(Address pc, const volatile void* lock) {
  Thread* const thread = self();
  if (thread == nullptr) return;
  was_written(thread, pc, lock, 1);
  on_lock_destroy(thread, pc, address_of(lock));
}

int c11_result(int result, Address pc, const volatile void* lock) {
  if (result == thrd_success) locked(pc, lock);
  return result;
}

REAL_FUNCTION(int, pthread_mutex_trylock, (pthread_mutex_t * mutex))

// A mutex that checks its owner reports at once that it would wait for itself.
bool waits_for_itself(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & kChecksOwner) == PTHREAD_MUTEX_ERRORCHECK &&
         static_cast<uint32_t>(mutex->__data.__owner) == own_kernel_id();
}

[[gnu::noinline, maybe_unused]] int lock_seen(int result, Address pc, const pthread_mutex_t* lock) {
  return lock_result(result, pc, lock);
}

template <typename Real>
int lock_mutex(pthread_mutex_t* mutex, Address pc, clockid_t clock, const timespec* until,
               Real real) {
  if constexpr (kProduction) {
    const int result = real();
    return result == 0 && nobody_asks(mutex) ? 0 : lock_seen(result, pc, mutex);
  }
  Thread* const thread = self();
  if (!scheduled(thread) || waits_for_itself(mutex)) return lock_result(real(), pc, mutex);
  Blocking how{thread, pc, Point::kLock, mutex};
  if (until != nullptr) how.deadline_ns = mode_deadline(clock, until);
  const auto attempt = [=] {
    const int result = REAL(pthread_mutex_trylock)(mutex);
    const bool left = result == EBUSY && is_robust(mutex) &&
                      mode_thread_over(static_cast<uint32_t>(mutex->__data.__owner));
    return left ? real() : result;
  };
  return lock_result(block_until(how, attempt, real), pc, mutex);
}

template <typename Real>
[[gnu::noinline]] int unlock_watched(Address pc, const pthread_mutex_t* mutex, Real real) {
  unlocks(pc, mutex);
  return real();
}

template <typename Real>
int unlock_mutex(pthread_mutex_t* mutex, Address pc, Real real) {
  if constexpr (kProduction) {
    // Two functions, so that the first needs no stack frame.
    return nobody_asks(mutex) ? real() : unlock_watched(pc, mutex, real);
  }
  unlocks(pc, mutex);
  const int result = real();
  released(mutex);
  return result;
}

}  // namespace

void leave_robust_mutexes(Thread* thread) {
  for (const pthread_mutex_t*& held : local.robust) {
    if (held == nullptr) continue;
    on_unlock(thread, 0, address_of(held), false);
    if (&mode_release != nullptr) mode_release(address_of(held), kAll);
    held = nullptr;
  }
}

INTERCEPT(int, pthread_mutex_init, (pthread_mutex_t * mutex, const pthread_mutexattr_t* how)) {
  const int result = REAL(pthread_mutex_init)(mutex, how);
  if (result == 0) created(CALLER, mutex);
  return result;
}

INTERCEPT(int, pthread_mutex_destroy, (pthread_mutex_t * mutex)) {
  const int result = REAL(pthread_mutex_destroy)(mutex);
  if (result == 0) destroys(CALLER, mutex);
  return result;
}

INTERCEPT(int, pthread_mutex_lock, (pthread_mutex_t * mutex)) {
  return lock_mutex(mutex, CALLER, 0, nullptr, [=] { return REAL(pthread_mutex_lock)(mutex); });
}

EXPORTED int intercept_trylock(pthread_mutex_t* mutex) __asm__("pthread_mutex_trylock");
extern "C" int intercept_trylock(pthread_mutex_t* mutex) {
  point(self(), CALLER, Point::kTry, mutex);
  return lock_result(REAL(pthread_mutex_trylock)(mutex), CALLER, mutex);
}

INTERCEPT(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec* until)) {
  return lock_mutex(mutex, CALLER, CLOCK_REALTIME, until,
                    [=] { return REAL(pthread_mutex_timedlock)(mutex, until); });
}

INTERCEPT(int, pthread_mutex_clocklock,
          (pthread_mutex_t * mutex, clockid_t clock, const timespec* until)) {
  return lock_mutex(mutex, CALLER, clock, until,
                    [=] { return REAL(pthread_mutex_clocklock)(mutex, clock, until); });
}

INTERCEPT(int, pthread_mutex_unlock, (pthread_mutex_t * mutex)) {
  return unlock_mutex(mutex, CALLER, [=] { return REAL(pthread_mutex_unlock)(mutex); });
}

// Old binaries and some libraries use glibc's alternative names.
INTERCEPT_ALIAS(int, __pthread_mutex_lock, (pthread_mutex_t * mutex)) {
  return lock_mutex(mutex, CALLER, 0, nullptr, [=] { return REAL(pthread_mutex_lock)(mutex); });
}
INTERCEPT_ALIAS(int, __pthread_mutex_unlock, (pthread_mutex_t * mutex)) {
  return unlock_mutex(mutex, CALLER, [=] { return REAL(pthread_mutex_unlock)(mutex); });
}

INTERCEPT(int, mtx_init, (mtx_t * mutex, int type)) {
  const int result = REAL(mtx_init)(mutex, type);
  if (result == thrd_success) created(CALLER, mutex);
  return result;
}

INTERCEPT(void, mtx_destroy, (mtx_t * mutex)) {
  REAL(mtx_destroy)(mutex);
  destroys(CALLER, mutex);
}

REAL_FUNCTION(int, mtx_trylock, (mtx_t * mutex))

namespace {

template <typename Real>
int lock_c11(mtx_t* mutex, Address pc, const timespec* until, Real real) {
  Thread* const thread = self();
  Blocking how{thread, pc, Point::kLock, mutex};
  how.busy = thrd_busy;
  how.timed_out = thrd_timedout;
  if (until != nullptr && scheduled(thread)) how.deadline_ns = mode_deadline(CLOCK_REALTIME, until);
  return c11_result(block_until(how, [=] { return REAL(mtx_trylock)(mutex); }, real), pc, mutex);
}

}  // namespace

INTERCEPT(int, mtx_lock, (mtx_t * mutex)) {
  return lock_c11(mutex, CALLER, nullptr, [=] { return REAL(mtx_lock)(mutex); });
}

EXPORTED int intercept_c11_trylock(mtx_t* mutex) __asm__("mtx_trylock");
extern "C" int intercept_c11_trylock(mtx_t* mutex) {
  point(self(), CALLER, Point::kTry, mutex);
  return c11_result(REAL(mtx_trylock)(mutex), CALLER, mutex);
}

INTERCEPT(int, mtx_timedlock, (mtx_t * mutex, const timespec* until)) {
  return lock_c11(mutex, CALLER, until, [=] { return REAL(mtx_timedlock)(mutex, until); });
}

INTERCEPT(int, mtx_unlock, (mtx_t * mutex)) {
  // glibc implements both by the same type.
  return unlock_mutex(reinterpret_cast<pthread_mutex_t*>(mutex), CALLER,
                      [=] { return REAL(mtx_unlock)(mutex); });
}

INTERCEPT(int, pthread_spin_init, (pthread_spinlock_t * lock, int shared)) {
  const int result = REAL(pthread_spin_init)(lock, shared);
  if (result == 0) created(CALLER, lock);
  return result;
}

INTERCEPT(int, pthread_spin_destroy, (pthread_spinlock_t * lock)) {
  const int result = REAL(pthread_spin_destroy)(lock);
  if (result == 0) destroys(CALLER, lock);
  return result;
}

REAL_FUNCTION(int, pthread_spin_trylock, (pthread_spinlock_t * lock))

INTERCEPT(int, pthread_spin_lock, (pthread_spinlock_t * lock)) {
  const Blocking how{self(), CALLER, Point::kLock, lock};
  return spin_result(block_until(
                         how, [=] { return REAL(pthread_spin_trylock)(lock); },
                         [=] { return REAL(pthread_spin_lock)(lock); }),
                     CALLER, lock);
}

EXPORTED int intercept_spin_trylock(pthread_spinlock_t* lock) __asm__("pthread_spin_trylock");
extern "C" int intercept_spin_trylock(pthread_spinlock_t* lock) {
  point(self(), CALLER, Point::kTry, lock);
  return spin_result(REAL(pthread_spin_trylock)(lock), CALLER, lock);
}

INTERCEPT(int, pthread_spin_unlock, (pthread_spinlock_t * lock)) {
  if (!nothing_to_do() && self() != nullptr) on_unlock(self(), CALLER, address_of(lock), false);
  const int result = REAL(pthread_spin_unlock)(lock);
  released(lock);
  return result;
}

}  // namespace deadheat::runtime
