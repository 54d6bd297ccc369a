// Find: runs and recordings of a program, what its bitcode suggests, and what the finders say of
// all that. The first phase of `check`, in this process.
//
// What is found stays found: a run that must end because the time is over, or because the user says
// so, still tells what it saw. While nothing is found the program runs again, since another run may
// take another schedule: at most `runs` times, and only while the runs so far took less than a
// tenth of the time there is (a minute, if it has no limit). A static scan comes last, if wanted.
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
  bool orders = false;  // also pairs of locks and atomics
  bool scan = false;    // also what the program's bitcode suggests
  uint64_t runs = 5;
  std::string work;                             // a folder for our files
  std::function<void(const std::string&)> say;  // a line for people
  std::function<void(const Error&)> warn;       // something went wrong, and the rest goes on
};

struct Found {
  model::FindingsFile file;
  int status = 0;                     // of the program's first run
  bool ran = true;                    // false: nothing was checked, and why was said
  bool stopped = false;               // by the user
  bool timed_out = false;             // the program did not end by itself in the first run
  double took_s = 0;                  // the longest run that did; 0: none
  std::vector<std::string> not_done;  // one line each
  std::vector<std::string> built_in_suppressions;  // texts that the program brings along
};

// An Error when the program could not be run at all; `code` is then what a shell would return.
Result<Found> find_races(const TrialOptions& options, const FindOptions& how,
                         const TimeBudget& budget, int& code);

}  // namespace deadheat::pipeline
