// syscall(): futexes, the calls that end or copy the process, and those that order or map most
// often, which go to their interceptors. Everything else passes; in production, where a loss is
// better than a wrong word, as code that may order (RDIT). A
// variadic function of integers gets its arguments where one with seven parameters looks for them.
//
// A thread that is woken from a futex must read its word again: that atomic read orders. In
// instrumented code (std::atomic::wait, std::latch and std::counting_semaphore are, in headers) we
// see it, and an edge for the wake-up would hide the race of a thread that only slept. In other
// code we do not see it, and the wake-up is all that we have.
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/modules.h"
#include "runtime/common/unseen.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

namespace deadheat::runtime {

namespace {

struct WaitEntry {  // struct futex_waitv
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};

void woken_by(Thread* thread, Address pc, Address futex) {
  if (is_outside(pc)) on_happens_before(thread, pc, futex);
}
void wakes_from(Thread* thread, Address pc, Address futex) {
  if (is_outside(pc)) on_happens_after(thread, pc, futex);
}

void before_futex(Thread* thread, Address pc, long operation, Address first, Address second) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      woken_by(thread, pc, first);
      break;
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      woken_by(thread, pc, first);
      woken_by(thread, pc, second);
      break;
    case FUTEX_UNLOCK_PI:
      on_unlock(thread, pc, first, false);
      break;
    default:
      break;
  }
}

void after_futex(Thread* thread, Address pc, long operation, Address first, Address second) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      wakes_from(thread, pc, first);
      break;
    case FUTEX_WAIT_REQUEUE_PI:
      wakes_from(thread, pc, first);
      on_lock(thread, pc, second, false);
      break;
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
      on_lock(thread, pc, first, false);
      break;
    default:
      break;
  }
}

struct FutexCall {
  Thread* thread;
  Address pc;
  long address, operation, value, timeout;
};

uint64_t futex_deadline(const FutexCall& call) {
  const auto* const time = reinterpret_cast<const timespec*>(call.timeout);
  if (time == nullptr) return kForever;
  const bool absolute = (call.operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  if (absolute)
    return mode_deadline(
        (call.operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, time);
  timespec none = {};
  const uint64_t now = mode_deadline(-1, &none);
  return now + static_cast<uint64_t>(time->tv_sec) * 1000000000 +
         static_cast<uint64_t>(time->tv_nsec);
}

// Waits and wakes within one process, which the mode handles. False: not one of those.
bool scheduled_futex(const FutexCall& call, long* result) {
  if (!scheduled(call.thread) || (call.operation & FUTEX_PRIVATE_FLAG) == 0) return false;
  const auto object = static_cast<Address>(call.address);
  switch (call.operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      mode_point(call.thread, call.pc, Point::kFutex, object);
      const auto* const word = reinterpret_cast<const uint32_t*>(object);
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<uint32_t>(call.value)) {
        *result = -EAGAIN;
        return true;
      }
      const Woken woken =
          mode_block(call.thread, call.pc, Point::kFutex, object, futex_deadline(call));
      *result = woken == Woken::kReleased ? 0 : woken == Woken::kTimedOut ? -ETIMEDOUT : -EINTR;
      return true;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      mode_point(call.thread, call.pc, Point::kFutex, object);
      *result = static_cast<long>(mode_release(object, static_cast<uint32_t>(call.value)));
      return *result > 0;  // no waiter of ours: the kernel may know others
    default:
      return false;
  }
}

template <typename Real>
long may_order(Thread* thread, Address pc, Real real) {
  if (!in_production()) return real();
  on_region_begin(thread, pc, 0, nullptr, 0);
  const long result = real();
  on_region_end(thread, pc, nullptr, 0);
  return result;
}

}  // namespace

REAL_FUNCTION(int, fork, ())

INTERCEPT(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(syscall)(number, a, b, c, d, e, f);
  switch (number) {
    case SYS_futex: {
      const auto first = static_cast<Address>(a), second = static_cast<Address>(e);
      before_futex(thread, CALLER, b, first, second);
      long result;
      if (!scheduled_futex({thread, CALLER, a, b, c, d}, &result)) {
        result = REAL(syscall)(number, a, b, c, d, e, f);
      } else if (result < 0) {
        errno = static_cast<int>(-result);
        return -1;
      }
      if (result >= 0) after_futex(thread, CALLER, b, first, second);
      return result;
    }
    case SYS_futex_waitv: {
      const long result = REAL(syscall)(number, a, b, c, d, e, f);
      // The result names one woken waiter; others may have been woken too.
      const auto* const entries = reinterpret_cast<const WaitEntry*>(a);
      for (long i = 0; result >= 0 && i < b; ++i) wakes_from(thread, CALLER, entries[i].address);
      return result;
    }
    case SYS_io_uring_setup:
    case SYS_io_setup:
      met_unseen(Unseen::kAsynchronousIo);
      return REAL(syscall)(number, a, b, c, d, e, f);
    case SYS_exit_group:
      return REAL(syscall)(number, finish_runtime(static_cast<int>(a)), b, c, d, e, f);
    case SYS_execve:
    case SYS_execveat:
      finish_runtime(0, true);
      return REAL(syscall)(number, a, b, c, d, e, f);
    case SYS_fork:
    case SYS_vfork:
      return REAL(fork)();
    case SYS_clone:
      // Without a shared address space it is a fork, whose child continues here.
      if ((a & CLONE_VM) == 0) {
        before_raw_fork();
        const long result = REAL(syscall)(number, a, b, c, d, e, f);
        after_raw_fork(result == 0);
        return result;
      }
      return REAL(syscall)(number, a, b, c, d, e, f);
    case SYS_read:
      return ::read(static_cast<int>(a), reinterpret_cast<void*>(b), static_cast<size_t>(c));
    case SYS_write:
      return ::write(static_cast<int>(a), reinterpret_cast<void*>(b), static_cast<size_t>(c));
    case SYS_close:
      return ::close(static_cast<int>(a));
    case SYS_mmap:
      return reinterpret_cast<long>(::mmap(reinterpret_cast<void*>(a), static_cast<size_t>(b),
                                           static_cast<int>(c), static_cast<int>(d),
                                           static_cast<int>(e), f));
    case SYS_munmap:
      return ::munmap(reinterpret_cast<void*>(a), static_cast<size_t>(b));
    default:
      return may_order(thread, CALLER, [=] { return REAL(syscall)(number, a, b, c, d, e, f); });
  }
}

}  // namespace deadheat::runtime
