// Budget: the time that may be taken from the program, as a share of the elapsed time.
//
// Every nanosecond for which a thread is stopped counts as if the whole program had been stopped:
// too much if other threads ran on, never too little if they waited for this one. The kernel's path
// into the trap and back is invisible here; kTrapNs is added per stop.
#pragma once

#include <cstdint>

namespace deadheat::sampler {

class Budget {
 public:
  // A trap and the way back, beyond the time between seeing the stop and releasing the task. This
  // is the total cost of a hit as SIGTRAP on two virtual cores, so rather too much.
  static constexpr uint64_t kTrapNs = 12'000;

  Budget(double share, uint64_t start_ns) : share_(share), start_ns_(start_ns) {}
  void take(uint64_t ns) { taken_ns_ += ns; }
  // Time in which nothing could be watched: it earns no budget, which would otherwise be spent all
  // at once as soon as something can be watched.
  void pass(uint64_t ns) { passed_ns_ += ns; }
  // `under_way_ns`: time of samples that have not ended.
  bool allows(uint64_t now_ns, uint64_t under_way_ns = 0) const {
    return static_cast<double>(taken_ns_ + under_way_ns) <=
           share_ * static_cast<double>(now_ns - start_ns_ - passed_ns_);
  }
  // Whether the budget is exceeded by no more than `ns`.
  bool nearly_allows(uint64_t now_ns, uint64_t ns, uint64_t under_way_ns = 0) const {
    return static_cast<double>(taken_ns_ + under_way_ns) <=
           share_ * static_cast<double>(now_ns - start_ns_ - passed_ns_) + static_cast<double>(ns);
  }
  uint64_t taken_ns() const { return taken_ns_; }
  double used(uint64_t now_ns) const {
    return now_ns > start_ns_
               ? static_cast<double>(taken_ns_) / static_cast<double>(now_ns - start_ns_)
               : 0;
  }

 private:
  double share_;
  uint64_t start_ns_, taken_ns_ = 0, passed_ns_ = 0;
};

}  // namespace deadheat::sampler
