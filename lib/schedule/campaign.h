// A campaign: runs trials for every candidate until it is decided or the budget is spent.
//
// The candidate with the fewest trials gets the next one, so that a campaign that is cut short has
// tried everything a little. Trial n of a candidate has the seed first + n. All state is in the
// findings: a campaign that was ended continues where the evidence stops, if program, directory,
// arguments, strategy and first seed are the same.
//
// A candidate is decided when it has enough trials, or its sites no longer exist.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time_budget.h"
#include "lib/confirm/confirmer.h"
#include "lib/confirm/runner.h"
#include "lib/confirm/target.h"
#include "lib/model/finding.h"
#include "lib/model/trials.h"
#include "lib/places/expand.h"
#include "lib/schedule/trial.h"

namespace deadheat::schedule {

inline constexpr uint64_t kEnoughOfEachOrder = 10;
inline constexpr uint64_t kEnoughOfOneOrder = 40;

// Both orders occurred kEnoughOfEachOrder times: harm in either would have shown with a probability
// of 1 - (1 - p)^10, which is 0.9 for p = 0.2; or the race occurred kEnoughOfOneOrder times, always
// in one order; or `most` trials are used up.
bool is_enough(const model::TrialCount& count, uint64_t most);

struct Options {
  confirm::Target target;
  std::string strategy = "race_directed";
  uint64_t seed = 1, depth = 3, trials = 100;
  TimeBudget time = TimeBudget(0);
  double timeout_s = 0;      // of a trial; 0: ten times the slowest undisturbed run, at least 10
  double took_s = 0;         // an earlier run of the program that ended by itself; 0: unknown
  bool never_ended = false;  // an earlier run had to be ended
  uint64_t jobs = 1, undisturbed = 5;
  std::string checker;                // a command (confirm/checker.h); may be empty
  std::set<std::string> only;         // display ids; empty: all
  std::string work;                   // a folder for the files of trials
  confirm::Runner* runner = nullptr;  // where they run; null: on this machine
  std::string schedules;              // folder for decision logs; empty: not kept
  std::string findings;               // named in the command that repeats a trial
  std::function<void(const confirm::Progress&)> progress;
  std::function<bool()> stopped;                         // called often
  std::function<void(const model::FindingsFile&)> save;  // a few times a minute
  // A message for the user, immediate: a race was confirmed, a site no longer exists.
  std::function<void(const std::string&)> say;
  // Another confirmer of the same candidates, in the same engine; told when no execution is left.
  confirm::Confirmer* beside = nullptr;
  std::function<void()> beside_ends;
};

struct Outcome {
  confirm::Progress progress;
  bool stopped = false, out_of_time = false;
  Counters counters;
  std::vector<std::string> problems;
};

// "3f9a21c4d2e0b177": the common part of the names of the campaign's executions.
std::string campaign_key(const Options& options);
// A permanent name for a candidate, distinct from its twins'.
std::string candidate_key(const model::Candidate& candidate);

// Where the decision log of a trial is stored.
std::string schedule_path(const std::string& folder, const std::string& candidate, uint64_t seed);

// Adds evidence to `file`. An Error if the program cannot be tried at all.
Result<Outcome> run_campaign(const Options& options, model::FindingsFile& file);

}  // namespace deadheat::schedule
