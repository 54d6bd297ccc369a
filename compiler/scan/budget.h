// The limit for a scan, in processor time, so that its result does not depend on the machine's
// load. What a phase omits when the time is over is counted there.
#pragma once

#include <ctime>

namespace deadheat::scan {

class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}
  // Whether this share of the time is used up.
  bool is_over(double share) const { return seconds_ > 0 && used() > seconds_ * share; }
  double seconds() const { return seconds_; }
  static double used() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

 private:
  double seconds_;  // 0: no limit
};

// Until when each phase works on in full.
inline constexpr double kPointerShare = 0.5, kSummaryShare = 0.65, kContextShare = 0.7,
                        kPairShare = 0.95;

}  // namespace deadheat::scan
