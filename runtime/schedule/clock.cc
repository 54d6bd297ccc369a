// Virtual time. It advances when no thread can run (schedule.cc), and slightly with every reading,
// by more the more often it is read: a loop that waits for a time ends.
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/schedule/schedule.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kSecond = 1000000000;

uint64_t start_real, start_monotonic;
uint64_t readings;

uint64_t nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t raw_clock(clockid_t clock) {
  timespec time = {};
  system_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&time));
  return nanoseconds(time);
}

bool is_real(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}
bool is_monotonic(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

uint64_t read_clock(clockid_t clock) {
  const uint64_t count = __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
  const uint64_t step = 1000 + count;  // 1 µs, 2 µs after a thousand, ...
  const uint64_t now = __atomic_add_fetch(&virtual_ns, step, __ATOMIC_RELAXED);
  return (is_real(clock) ? start_real : start_monotonic) + now;
}

timespec as_timespec(uint64_t time) {
  return {static_cast<time_t>(time / kSecond), static_cast<long>(time % kSecond)};
}

uint64_t now_ns() { return __atomic_load_n(&virtual_ns, __ATOMIC_RELAXED); }

// False: a signal handler ran.
bool sleep_until(uint64_t deadline_ns, Address pc) {
  const Woken woken = mode_block(self(), pc, Point::kSleep, 0, deadline_ns);
  pthread_testcancel();
  return woken != Woken::kInterrupted;
}

}  // namespace

void start_clock() {
  start_real = raw_clock(CLOCK_REALTIME);
  start_monotonic = raw_clock(CLOCK_MONOTONIC);
}

uint64_t mode_deadline(clockid_t clock, const timespec* until) {
  if (clock < 0) return now_ns();
  const uint64_t start = is_real(clock) ? start_real : start_monotonic;
  const uint64_t time = nanoseconds(*until);
  return time > start ? time - start : 0;
}

bool mode_clock(clockid_t clock, timespec* time) {
  if (self() == nullptr || (!is_real(clock) && !is_monotonic(clock))) return false;
  *time = as_timespec(read_clock(clock));
  return true;
}

INTERCEPT(int, timespec_get, (timespec * time, int base)) {
  if (self() == nullptr || base != TIME_UTC) return REAL(timespec_get)(time, base);
  *time = as_timespec(read_clock(CLOCK_REALTIME));
  return base;
}

INTERCEPT(int, nanosleep, (const timespec* time, timespec* left)) {
  if (self() == nullptr || time == nullptr || time->tv_nsec < 0 || time->tv_nsec >= 1000000000L)
    return REAL(nanosleep)(time, left);
  const uint64_t until = now_ns() + nanoseconds(*time);
  if (sleep_until(until, CALLER)) return 0;
  if (left != nullptr) *left = as_timespec(until > now_ns() ? until - now_ns() : 0);
  errno = EINTR;
  return -1;
}

INTERCEPT(int, clock_nanosleep,
          (clockid_t clock, int flags, const timespec* time, timespec* left)) {
  if (self() == nullptr || time == nullptr || (!is_real(clock) && !is_monotonic(clock)))
    return REAL(clock_nanosleep)(clock, flags, time, left);
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const uint64_t until = absolute ? mode_deadline(clock, time) : now_ns() + nanoseconds(*time);
  if (sleep_until(until, CALLER)) return 0;
  if (left != nullptr && !absolute) *left = as_timespec(until > now_ns() ? until - now_ns() : 0);
  return EINTR;
}

INTERCEPT(unsigned, sleep, (unsigned seconds)) {
  if (self() == nullptr) return REAL(sleep)(seconds);
  const uint64_t until = now_ns() + seconds * kSecond;
  if (sleep_until(until, CALLER)) return 0;
  return until > now_ns() ? static_cast<unsigned>((until - now_ns() + kSecond - 1) / kSecond) : 0;
}

INTERCEPT(int, usleep, (useconds_t microseconds)) {
  if (self() == nullptr) return REAL(usleep)(microseconds);
  if (sleep_until(now_ns() + uint64_t{microseconds} * 1000, CALLER)) return 0;
  errno = EINTR;
  return -1;
}

INTERCEPT(void, thrd_yield, ()) {
  point(self(), CALLER, Point::kYield, nullptr);
  if (self() == nullptr) REAL(thrd_yield)();
}

INTERCEPT(int, thrd_sleep, (const timespec* time, timespec* left)) {
  if (self() == nullptr) return REAL(thrd_sleep)(time, left);
  return sleep_until(now_ns() + nanoseconds(*time), CALLER) ? 0 : -1;
}

INTERCEPT(int, sched_yield, ()) {
  if (self() == nullptr) return REAL(sched_yield)();
  point(self(), CALLER, Point::kYield, nullptr);
  return 0;
}

INTERCEPT(int, pthread_yield, ()) {
  point(self(), CALLER, Point::kYield, nullptr);
  return 0;
}

}  // namespace deadheat::runtime
