// Totals over the trials of one confirmer: how often the race happened, in which order, and with
// which consequences. Computed from the evidence, so that a report, a resumed campaign and a person
// who reads the file get the same numbers.
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

// Counts the trials of that confirmer; if `campaign` is not empty, only those of that campaign.
TrialCount count_trials(const Finding& finding, std::string_view confirmer,
                        std::string_view campaign = "");

// The interval that contains the true share with 95% confidence (Wilson), for `hits` of `tries`.
struct Share {
  double estimate = 0, low = 0, high = 1;
};
Share share_of(uint64_t hits, uint64_t tries);

}  // namespace deadheat::model
