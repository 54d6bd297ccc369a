// What trials left to the system: calls that wait for the world, threads that ran beside the
// scheduled one, signals. Added up over a campaign; each trial that has none of it repeats.
#pragma once

#include <map>
#include <string>

#include "lib/base/counter.h"

namespace deadheat::schedule {

class LeftToSystem {
 public:
  void add(const Counters& of_trial);  // the final counters of the schedule mode (abi/trial.md)
  void append_to(Counters& counters) const;
  // In some trial, a thread ran for long without a point: it waits with plain reads.
  bool spins() const { return uncontrolled_ > 0; }

 private:
  uint64_t trials_ = 0, outside_ = 0, uncontrolled_ = 0, signals_ = 0;
  std::map<std::string, Counter> losses_;  // all other losses counted by trials, by name
  std::map<std::string, uint64_t> calls_;  // the outside calls, by name
};

}  // namespace deadheat::schedule
