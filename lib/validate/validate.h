// Drives the candidates of a findings file through executions of a program that was built for them
// (run), or through a program that runs already (attach), and adds the evidence.
//
// An execution holds a few jobs at once; a process validates the first whose site it reaches. The
// first executions have no jobs: they show what the program does undisturbed, and which candidates
// meet at the same bytes at all.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/time_budget.h"
#include "lib/campaign/campaign.h"
#include "lib/model/finding.h"
#include "lib/validate/binary.h"
#include "lib/validate/course.h"

namespace deadheat::validate {

struct Options {
  campaign::Target target;
  std::vector<std::string> binaries;  // the program and the libraries that it loads
  Taus taus;
  uint32_t jobs = 4;       // at once in an execution
  uint64_t most_runs = 0;  // 0: until all is decided
  uint64_t undisturbed = 2;
  double timeout_s = 0;  // the user's word on when the program hangs; 0: none
  uint32_t budget_ppm = 0, standstill_us = 0;
  bool steer = true;
  TimeBudget time = TimeBudget(0);
  std::string checker;
  std::set<std::string> only;  // display ids
  std::string work;            // a folder
  std::string repeat;          // the command that makes it happen again
  std::function<void(const campaign::Progress&)> progress;
  std::function<bool()> stopped;
  std::function<void(const std::string&)> say;
};

struct Outcome {
  campaign::Progress progress;
  bool stopped = false, out_of_time = false;
  Counters counters;
  std::vector<std::string> problems;
};

// An Error when the program cannot be validated at all: it was not built for these candidates.
Result<Outcome> run(const Options& options, model::FindingsFile& file);
Result<Outcome> attach(const Options& options, pid_t process, model::FindingsFile& file);

}  // namespace deadheat::validate
