#include "lib/process/sources/ptrace/wall_clock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstddef>

#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {
namespace {

constexpr int64_t kSecond = 1000000000;
// Larger than any machine's uptime, and long past as a date: distinguishes the two kinds of clocks,
// even for a timer's clock.
constexpr int64_t kSurelyADate = 1000000000;
// Below the red zone, and far enough that a signal handler does not reach it.
constexpr uint64_t kBelowStack = 16384;

template <typename Time>
void show(Time& time, const WallClock& clock) {
  const int64_t shown = clock.shown(time.tv_sec * kSecond + time.tv_nsec);
  time.tv_sec = shown / kSecond;
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>(shown % kSecond);
}

template <typename T, typename... Fields>
void show_in(const Tracee& tracee, RemoteAddress at, const WallClock& clock, Fields... fields) {
  auto value = tracee.read_as<T>(at);
  if (!value) return;
  (show((*value).*fields, clock), ...);
  tracee.write(at, {reinterpret_cast<const char*>(&*value), sizeof(T)});
}

void put_below_stack(TracedTask& task, int argument, std::string_view bytes) {
  const auto stack = static_cast<uint64_t>(
      ::ptrace(PTRACE_PEEKUSER, task.id(), offsetof(user_regs_struct, rsp), nullptr));
  const RemoteAddress to{(stack - kBelowStack) & ~uint64_t{63}};
  if (task.tracee.write(to, bytes)) task.change_argument(argument, to.value);
}

void move(TracedTask& task, int argument, RemoteAddress from, size_t size, size_t time_at,
          const WallClock& clock) {
  auto bytes = task.tracee.read(from, size);
  if (!bytes) return;
  timespec deadline;
  __builtin_memcpy(&deadline, bytes->data() + time_at, sizeof deadline);
  if (deadline.tv_sec == 0 && deadline.tv_nsec == 0) return;  // stops a timer
  const bool wall = deadline.tv_sec >= kSurelyADate;
  const int64_t moved =
      std::max<int64_t>(1, deadline.tv_sec * kSecond + deadline.tv_nsec + clock.shift(wall));
  deadline = {moved / kSecond, moved % kSecond};
  __builtin_memcpy(bytes->data() + time_at, &deadline, sizeof deadline);
  put_below_stack(task, argument, *bytes);
}

// Only FUTEX_WAIT takes a relative time.
bool is_absolute(uint64_t operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool may_have_deadline(uint32_t number) {
  return number == SYS_futex || number == SYS_clock_nanosleep || number == SYS_timerfd_settime ||
         number == SYS_timer_settime;
}

void move_deadline(TracedTask& task, const CallInfo& call, const WallClock& clock) {
  const uint64_t* const a = call.arguments;
  switch (call.number) {
    case SYS_futex:
      if (is_absolute(a[1]) && a[3] != 0) move(task, 3, {a[3]}, sizeof(timespec), 0, clock);
      return;
    case SYS_clock_nanosleep:
      if (a[1] & TIMER_ABSTIME) move(task, 2, {a[2]}, sizeof(timespec), 0, clock);
      return;
    case SYS_timerfd_settime:
    case SYS_timer_settime:
      if (a[1] & TIMER_ABSTIME)
        move(task, 2, {a[2]}, sizeof(itimerspec), offsetof(itimerspec, it_value), clock);
      return;
    default:
      return;
  }
}

void wait_longer(TracedTask& task) {
  const uint64_t* const arguments = task.call.head().arguments;
  const uint64_t operation = arguments[1] & FUTEX_CMD_MASK;
  if (arguments[3] == 0 || (operation != FUTEX_WAIT && !is_absolute(operation))) return;
  timespec deadline{};
  if (operation != FUTEX_WAIT)
    ::clock_gettime(arguments[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                    &deadline);
  deadline.tv_sec += 2;
  put_below_stack(task, 3, {reinterpret_cast<const char*>(&deadline), sizeof deadline});
}

void show_file_times(const Tracee& tracee, uint32_t number, const uint64_t* arguments,
                     const WallClock& clock) {
  switch (number) {
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
      return show_in<struct stat>(tracee, {arguments[number == SYS_newfstatat ? 2 : 1]}, clock,
                                  &stat::st_atim, &stat::st_mtim, &stat::st_ctim);
    case SYS_statx:
      return show_in<struct statx>(tracee, {arguments[4]}, clock, &statx::stx_atime,
                                   &statx::stx_btime, &statx::stx_ctime, &statx::stx_mtime);
    default:
      return;
  }
}

}  // namespace deadheat::process::sources
