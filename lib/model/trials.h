// What the trials of one confirmer add up to: how often they met the race, in which order, and what
// came of it. Counted from the evidence, so that a report, a campaign that goes on and a person who
// reads the file come to the same numbers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "lib/model/finding.h"

namespace deadheat::model {

struct TrialCount {
  uint64_t trials = 0;
  uint64_t races = 0, primary = 0, alternate = 0;  // races by order
  uint64_t harmful_primary = 0, harmful_alternate = 0;
  uint64_t timeouts = 0, deadlocks = 0, not_seen = 0, diverged = 0;
  uint64_t failures_elsewhere = 0;  // a consequence without the race
  std::set<std::string> strategies;

  uint64_t harmful() const { return harmful_primary + harmful_alternate; }
};

// Trials of that confirmer; of that campaign only, unless it is empty.
TrialCount count_trials(const Finding& finding, std::string_view confirmer,
                        std::string_view campaign = "");

// Where the true share lies with 95% confidence (Wilson's interval), for `hits` of `tries`.
struct Share {
  double estimate = 0, low = 0, high = 1;
};
Share share_of(uint64_t hits, uint64_t tries);

}  // namespace deadheat::model
