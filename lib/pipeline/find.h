// Find: runs and records a program, scans its bitcode, and collects what the finders report. The
// first phase of `check`, in this process.
//
// Findings are never lost: a run that is ended early because time is over, or because the user
// stops it, still reports what it saw. While nothing is found the program runs again, since another
// run may take another schedule: at most `runs` times, and only while the runs so far took less
// than a tenth of the budget (of a minute, if there is no limit). Given candidates and the static
// scan, if wanted, come last.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time_budget.h"
#include "lib/model/finding.h"
#include "lib/pipeline/trials.h"

namespace deadheat::pipeline {

struct FindOptions {
  bool orders = false;  // also find pairs of locks and of atomics
  bool scan = false;    // also scan the program's bitcode
  uint64_t runs = 5;
  model::FindingsFile candidates;               // another tool's or the user's: tried as well
  std::string work;                             // folder for our files
  std::function<void(const std::string&)> say;  // prints a line for the user
  std::function<void(const Error&)> warn;       // reports a problem after which work continues
};

struct Found {
  model::FindingsFile file;
  int status = 0;                     // exit status of the first run
  bool ran = true;                    // false: nothing was checked, and the reason was reported
  bool stopped = false;               // by the user
  bool timed_out = false;             // the program did not end by itself in its first run
  double took_s = 0;                  // duration of the longest run that ended by itself; 0: none
  std::vector<std::string> not_done;  // one line each
  std::vector<std::string> built_in_suppressions;  // contained in the program
};

// An Error if the program could not be run at all; `code` is then the status a shell would return.
Result<Found> find_races(const TrialOptions& options, const FindOptions& how,
                         const TimeBudget& budget, int& code);

}  // namespace deadheat::pipeline
