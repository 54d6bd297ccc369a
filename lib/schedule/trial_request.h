// The request for a trial: the file that the schedule mode reads (abi/trial.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/reproducer.h"
#include "lib/places/expand.h"

namespace deadheat::schedule {

using RequestedSite = places::HookedPlace;

struct TrialRequest {
  std::string strategy = "race_directed";
  uint64_t seed = 1;
  uint64_t depth = 0, length = 0;  // pct; 0: not given
  std::vector<RequestedSite> sites;
  std::string decisions;  // destination of the log
  std::string follow;     // replay: the log to follow
  bool stop_at_race = false;
  bool spins = false;  // the program waits with plain reads: keep their hooks
  int cpu = -1;        // processor to run on; -1: any
  // After its patience a trial releases all threads; if the program does not end within its grace,
  // it hangs. 0: no release.
  uint64_t patience_ms = 0, grace_ms = 0;
};

// Sets patience and grace of a trial that is ended after `timeout_s`, for a program whose runs take
// up to `slowest_s`.
void set_limits(TrialRequest& request, double timeout_s, double slowest_s);
// When we end a trial that has not ended by itself: on a busy machine later than `timeout_s`, up to
// three times, since it may need that long to show that the program hangs; nothing else is delayed.
double end_of_trial_s(double timeout_s);

// Paths must not hold line breaks: the format has no way to say them, and the caller chose them.
std::string to_text(const TrialRequest& request);

// Conversions between the choices and a reproducer. The caller sets campaign and candidate.
model::Reproducer reproducer_of(const TrialRequest& request);
TrialRequest request_of(const model::Reproducer& reproducer);

}  // namespace deadheat::schedule
