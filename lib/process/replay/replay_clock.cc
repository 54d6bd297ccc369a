#include "lib/process/replay/replay_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "lib/process/recording/bytes_of.h"

namespace deadheat::process::replay {
namespace {

constexpr int64_t kSecond = 1000000000;

bool is_wall_clock(uint64_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

bool counts_from_start(uint64_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

int64_t read_clock(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// The wall-clock time that a recorded call returned.
std::optional<int64_t> wall_clock_in(const recording::Event& event) {
  const deadheat_process_event& head = event.head();
  if (head.kind != DEADHEAT_PROCESS_SYSCALL || head.result < 0) return std::nullopt;
  if (head.number == SYS_clock_gettime && is_wall_clock(head.arguments[0])) {
    const auto data = event.find(DEADHEAT_ATTACH_DATA, 1);
    timespec value;
    if (!data || data->size() < sizeof value) return std::nullopt;
    std::memcpy(&value, data->data(), sizeof value);
    return value.tv_sec * kSecond + value.tv_nsec;
  }
  if (head.number == SYS_gettimeofday) {
    const auto data = event.find(DEADHEAT_ATTACH_DATA, 0);
    timeval value;
    if (!data || data->size() < sizeof value) return std::nullopt;
    std::memcpy(&value, data->data(), sizeof value);
    return value.tv_sec * kSecond + value.tv_usec * 1000;
  }
  return std::nullopt;
}

}  // namespace

int64_t real_time_ns() { return read_clock(CLOCK_REALTIME); }

ReplayClock::ReplayClock(const recording::Recording& recording) {
  const std::vector<recording::Event>& events = recording.events();
  if (!recording.info().guarantees.time || events.empty()) return;
  told_ = true;
  const auto monotonic = [](const recording::Event& event) {
    return static_cast<int64_t>(event.head().time_ns);
  };
  monotonic_to_wall_ = recording.info().started_ns - monotonic(events.front());
  for (const recording::Event& event : events) {
    const auto wall = wall_clock_in(event);
    if (!wall) continue;
    monotonic_to_wall_ = *wall - monotonic(event);
    break;
  }
  real_monotonic_to_wall_ = real_time_ns() - read_clock(CLOCK_MONOTONIC);
  points_.push_back({real_time_ns(), recording.info().started_ns});
}

void ReplayClock::made(const recording::Event& event) {
  if (!told_) return;
  const int64_t then = wall_clock_in(event).value_or(static_cast<int64_t>(event.head().time_ns) +
                                                     monotonic_to_wall_);
  const int64_t now = real_time_ns();
  if (now > points_.back().real && then > points_.back().recorded) points_.push_back({now, then});
}

int64_t ReplayClock::shown(int64_t real_ns) const {
  if (!told_ || real_ns < points_.front().real) return real_ns;
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), real_ns,
                       [](int64_t wanted, const Point& point) { return wanted < point.real; });
  const Point& from = *std::prev(after);
  const int64_t mapped = from.recorded + (real_ns - from.real);
  return after == points_.end() ? mapped : std::min(mapped, after->recorded);
}

int64_t ReplayClock::shift(bool wall) const {
  if (!told_) return 0;
  const int64_t shift = points_.back().real - points_.back().recorded;
  return wall ? shift : shift - real_monotonic_to_wall_ + monotonic_to_wall_;
}

Answer ReplayClock::now(uint32_t number, uint64_t clock) const {
  if (!told_) return std::nullopt;
  const int64_t wall = shown(real_time_ns());
  switch (number) {
    case SYS_time:
      return std::pair{wall / kSecond, recording::bytes_of(wall / kSecond)};
    case SYS_gettimeofday:
      return std::pair{int64_t{0},
                       recording::bytes_of(timeval{wall / kSecond, wall % kSecond / 1000})};
    case SYS_clock_gettime: {
      if (!is_wall_clock(clock) && !counts_from_start(clock)) return std::nullopt;
      const int64_t ns = is_wall_clock(clock) ? wall : wall - monotonic_to_wall_;
      return std::pair{int64_t{0}, recording::bytes_of(timespec{ns / kSecond, ns % kSecond})};
    }
    default:
      return std::nullopt;
  }
}

Answer recorded_input(const recording::Event& event) {
  const deadheat_process_event& head = event.head();
  if (head.number == SYS_time) return std::pair{head.result, recording::bytes_of(head.result)};
  const bool second = head.number == SYS_clock_gettime || head.number == SYS_read;
  const auto data = event.find(DEADHEAT_ATTACH_DATA, second ? 1 : 0);
  if (!data) return std::nullopt;
  const bool whole = head.number == SYS_getrandom || head.number == SYS_read;
  if (whole && static_cast<int64_t>(data->size()) != head.result) return std::nullopt;
  return std::pair{head.result, std::string(*data)};
}

}  // namespace deadheat::process::replay
