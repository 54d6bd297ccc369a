// When the agent asks the hive for each of its programs. Two wishes meet: ours (ask again after a
// while, or at once when a job ended), and the hive's, that a large fleet asks rarely (`again_s`).
// The hive's is about one program and holds for that program alone, whatever happens meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace deadheat::hive::agent {

// How long to sleep so that the processor time `used` since the last sleep began stays within a
// share of all time: at least `least`, so that nothing spins, and a second at most, so that "off"
// is noticed.
inline std::chrono::nanoseconds rest(std::chrono::nanoseconds used, std::chrono::nanoseconds passed,
                                     double share, std::chrono::nanoseconds least) {
  constexpr std::chrono::nanoseconds kMost = std::chrono::seconds(1);
  if (share <= 0) return least;
  const double needed_ns = static_cast<double>(used.count()) / share;
  if (needed_ns >= static_cast<double>((passed + kMost).count())) return kMost;
  return std::max(least, std::chrono::nanoseconds(static_cast<int64_t>(needed_ns)) - passed);
}

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  explicit Pace(size_t programs) : programs_(programs) {}

  bool due(size_t program, Time now) const { return now >= at(program); }
  // The hive answered: `usual` is our wish, `again_s` the hive's, an hour at most.
  void answered(size_t program, std::chrono::milliseconds usual, uint32_t again_s, Time now) {
    constexpr uint32_t kLongest_s = 3600;
    programs_[program] = {now + usual, now + std::chrono::seconds(std::min(again_s, kLongest_s))};
  }
  // A job ended: every program may ask, but not before the hive allows it.
  void hurry() {
    for (One& one : programs_) one.usual = {};
  }
  // When the first of them is due.
  Time next() const {
    Time first = Time::max();
    for (size_t i = 0; i < programs_.size(); ++i) first = std::min(first, at(i));
    return first;
  }

 private:
  struct One {
    Time usual = {}, allowed = {};
  };
  Time at(size_t program) const {
    return std::max(programs_[program].usual, programs_[program].allowed);
  }
  std::vector<One> programs_;
};

}  // namespace deadheat::hive::agent
