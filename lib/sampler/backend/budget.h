// Budget: what may be taken from the program, as a share of the time that passed.
//
// Every nanosecond that a thread stood still for us counts as if the whole program had stood still:
// too much where other threads went on, never too little where they waited for this one. Not seen
// from here: the kernel's way into the trap and out of it; it is added as kTrapNs a stop.
#pragma once

#include <cstdint>

namespace deadheat::sampler {

class Budget {
 public:
  // A trap and the way back, beyond what lies between seeing the stop and letting go: what a hit as
  // SIGTRAP costs in all on two virtual cores, so rather too much.
  static constexpr uint64_t kTrapNs = 12'000;

  Budget(double share, uint64_t start_ns) : share_(share), start_ns_(start_ns) {}
  void take(uint64_t ns) { taken_ns_ += ns; }
  // Time in which nothing could be watched: it earns nothing, or all of it would be spent at once
  // as soon as something can.
  void pass(uint64_t ns) { passed_ns_ += ns; }
  // `under_way_ns`: of samples that have not ended.
  bool allows(uint64_t now_ns, uint64_t under_way_ns = 0) const {
    return static_cast<double>(taken_ns_ + under_way_ns) <=
           share_ * static_cast<double>(now_ns - start_ns_ - passed_ns_);
  }
  // Ahead of the budget by no more than `ns`.
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
