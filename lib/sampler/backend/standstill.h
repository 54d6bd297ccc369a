// Standstill: how long one thread was stopped in the last second.
//
// The budget is a share of the whole run, so one worker of a server could bear all of it: at 10%,
// half a millisecond a hundred times per second, delaying every request that it handles. Stopped
// time is kept in slots of 10 ms, each until it is certainly older than a second: the sum is never
// too small, and at most a hundredth too large.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace deadheat::sampler {

class Standstill {
 public:
  void add(uint64_t now_ns, uint64_t ns) {
    forget(now_ns);
    if (slots_.empty() || slots_.back().first != now_ns / kSlotNs)
      slots_.emplace_back(now_ns / kSlotNs, 0);
    slots_.back().second += ns;
    sum_ns_ += ns;
  }
  uint64_t in_last_second(uint64_t now_ns) {
    forget(now_ns);
    return sum_ns_;
  }

 private:
  static constexpr uint64_t kSlotNs = 10'000'000, kSlots = 100;
  void forget(uint64_t now_ns) {
    while (!slots_.empty() && slots_.front().first + kSlots < now_ns / kSlotNs) {
      sum_ns_ -= slots_.front().second;
      slots_.pop_front();
    }
  }
  std::deque<std::pair<uint64_t, uint64_t>> slots_;  // number, ns
  uint64_t sum_ns_ = 0;
};

}  // namespace deadheat::sampler
