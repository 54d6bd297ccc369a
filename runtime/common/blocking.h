// Decides which thread runs. The schedule mode makes that decision, so it replaces everything that
// would block: an interceptor that would block checks `scheduled()`, attempts the operation without
// blocking, waits with mode_block() until a thread changes the object, and tries again. A thread
// whose action may let others succeed calls released().
//
// mode_schedules() tells whether the mode decides. The functions are weak: the other modes do not
// define them and leave blocking to libc.
#pragma once

#include <errno.h>
#include <time.h>

#include "abi/decision_log.h"
#include "runtime/common/thread.h"

namespace deadheat::runtime {

// What a thread is about to do; the numbers are those of the decision log (abi/trial.md).
enum class Point : uint8_t {
#define DEADHEAT_POINT(name, words) k##name,
  DHD_POINTS(DEADHEAT_POINT)
#undef DEADHEAT_POINT
};

enum class Woken : uint8_t { kReleased, kTimedOut, kInterrupted };

inline constexpr uint64_t kForever = ~uint64_t{0};

// Called before the operation: another thread may run first.
[[gnu::weak]] void mode_point(Thread* self, Address pc, Point point, Address object);
// Blocks until a thread releases the object, or the (virtual) deadline passes.
[[gnu::weak]] Woken mode_block(Thread* self, Address pc, Point point, Address object,
                               uint64_t deadline_ns);
// Wakes at most `count` waiters; returns how many were waiting. All waiters of a lock may try;
// among waiters of a condition or a futex the strategy chooses.
[[gnu::weak]] uint32_t mode_release(Address object, uint32_t count);
// Waits until the thread has finished; false: the deadline passed first.
[[gnu::weak]] bool mode_await_end(Thread* self, Address pc, Thread* other, uint64_t deadline_ns);
// Whether the thread of this kernel id is past its end: the kernel is about to let go what it held.
[[gnu::weak]] bool mode_thread_over(uint32_t kernel_id);
// A call that waits for the world: others run meanwhile. `fd` below 0: not a descriptor. Else its
// events (POLLIN, ...) are waited for here, so that the call will not block; not those of a
// descriptor that never does. True: they were waited for, and `woken` says how that ended.
[[gnu::weak]] bool mode_outside_begin(Thread* self, Address pc, const char* name, int fd,
                                      short events, uint64_t deadline_ns, Woken* woken);
[[gnu::weak]] void mode_outside_end(Thread* self);
// The deadline for mode_block that an absolute time of a clock is; of no clock (-1): now.
[[gnu::weak]] uint64_t mode_deadline(clockid_t clock, const timespec* until);
// The time that a clock shows; false: use the system's.
[[gnu::weak]] bool mode_clock(clockid_t clock, timespec* time);
// A function is about to access the range.
[[gnu::weak]] void mode_before_range(Thread* self, Address pc, Address begin, size_t size,
                                     bool write);
// A function has written the range, whose size was not known before. Not for reads: the function
// may have passed the memory on, and others may already write there in order.
[[gnu::weak]] void mode_after_write(Thread* self, Address pc, Address begin, size_t size);

// Whether the mode decides when this thread runs: it does, and is not itself at work in it.
[[gnu::weak]] bool mode_schedules(const Thread* self);
#ifdef DEADHEAT_PRODUCTION
constexpr bool scheduled(const Thread*) { return false; }
#else
inline bool scheduled(const Thread* thread) {
  return thread != nullptr && &mode_schedules != nullptr && mode_schedules(thread);
}
#endif

inline constexpr uint32_t kAll = ~0U;
inline void released(const volatile void* object, uint32_t count = kAll) {
  if (scheduled(self())) mode_release(reinterpret_cast<Address>(object), count);
}

struct Blocking {
  Thread* thread;
  Address pc;
  Point point;
  const volatile void* object;
  uint64_t deadline_ns = kForever;
  int busy = EBUSY;           // what an attempt returns if it would have to wait
  int timed_out = ETIMEDOUT;  // what to return on timeout
  int interrupted = -1;       // what to return after a signal handler ran; -1: continue waiting
};

// `attempt` does not block; `real` is libc's function.
template <typename Attempt, typename Real>
int block_until(const Blocking& how, Attempt attempt, Real real) {
  if (!scheduled(how.thread)) return real();
  const auto object = reinterpret_cast<Address>(how.object);
  mode_point(how.thread, how.pc, how.point, object);
  for (;;) {
    const int result = attempt();
    if (result != how.busy) return result;
    const Woken woken = mode_block(how.thread, how.pc, how.point, object, how.deadline_ns);
    if (woken == Woken::kTimedOut) return how.timed_out;
    if (woken == Woken::kInterrupted && how.interrupted != -1) return how.interrupted;
  }
}

inline void point(Thread* thread, Address pc, Point kind, const volatile void* object) {
  if (scheduled(thread)) mode_point(thread, pc, kind, reinterpret_cast<Address>(object));
}

// Marks a call that may wait for the outside world.
class Outside {
 public:
  Outside(Thread* thread, Address pc, const char* name, int fd = -1, short events = 0,
          uint64_t deadline_ns = kForever)
      : thread_(scheduled(thread) ? thread : nullptr) {
    if (thread_ != nullptr)
      waited_ = mode_outside_begin(thread_, pc, name, fd, events, deadline_ns, &woken_);
  }
  ~Outside() {
    if (thread_ != nullptr) mode_outside_end(thread_);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  bool waited() const { return waited_; }
  Woken woken() const { return woken_; }

 private:
  Thread* thread_;
  bool waited_ = false;
  Woken woken_ = Woken::kReleased;
};

}  // namespace deadheat::runtime
