#include "lib/process/replay/replay_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cstring>

namespace deadheat::process {
namespace {

constexpr int64_t kSecond = 1000000000;

bool is_wall_clock(uint64_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

int64_t real_time_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

std::optional<std::pair<int64_t, std::string>> recorded_input(const Event& event,
                                                              int64_t shift_ns) {
  const deadheat_process_event& head = event.head();
  const auto at_least_now = [&](int64_t recorded_ns) {
    return std::max(recorded_ns + shift_ns, real_time_ns());
  };
  switch (head.number) {
    case SYS_getrandom: {
      const auto data = event.find(DEADHEAT_ATTACH_DATA, 0);
      if (!data || static_cast<int64_t>(data->size()) != head.result) return std::nullopt;
      return std::pair{head.result, std::string(*data)};
    }
    case SYS_time: {
      const int64_t now = at_least_now(head.result * kSecond) / kSecond;
      return std::pair{now, bytes_of(now)};  // the result, and where its argument points
    }
    case SYS_clock_gettime: {
      const auto data = event.find(DEADHEAT_ATTACH_DATA, 1);
      timespec value;
      if (!is_wall_clock(head.arguments[0]) || !data || data->size() < sizeof value)
        return std::nullopt;
      std::memcpy(&value, data->data(), sizeof value);
      const int64_t ns = at_least_now(value.tv_sec * kSecond + value.tv_nsec);
      return std::pair{int64_t{0}, bytes_of(timespec{ns / kSecond, ns % kSecond})};
    }
    case SYS_gettimeofday: {
      const auto data = event.find(DEADHEAT_ATTACH_DATA, 0);
      timeval value;
      if (!data || data->size() < sizeof value) return std::nullopt;
      std::memcpy(&value, data->data(), sizeof value);
      const int64_t ns = at_least_now(value.tv_sec * kSecond + value.tv_usec * 1000);
      return std::pair{int64_t{0}, bytes_of(timeval{ns / kSecond, ns % kSecond / 1000})};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace deadheat::process
