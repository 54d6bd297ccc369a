// The time limit of a whole command. Each of its parts asks how much is left.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace deadheat {

class TimeBudget {
 public:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  // Starts now. 0: no limit.
  explicit TimeBudget(double seconds)
      : total_s_(seconds > 0 ? seconds : kNoLimit), started_(Clock::now()) {}

  double total_s() const { return total_s_; }
  double used_s() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  double left_s() const { return std::max(0.0, total_s_ - used_s()); }
  bool over() const { return left_s() <= 0; }

  // The limit for one step: `wished_s`, but at most `part` of the total and at most what is left.
  double share_s(double part, double wished_s) const {
    return std::min({wished_s, total_s_ * part, left_s()});
  }

 private:
  using Clock = std::chrono::steady_clock;
  double total_s_;
  Clock::time_point started_;
};

}  // namespace deadheat
