// A step of a command that is another of our verbs, or the compiler: its output is kept out of the
// way, it may be asked to end and then still reports.
#pragma once

#include <string>
#include <vector>

#include "apps/trials.h"
#include "lib/base/result.h"

namespace deadheat::apps {

std::string self_folder();  // where our own programs are

struct Step {
  int status = 0;  // 128 + n after signal n
  std::string errors;
  double seconds = 0;
  bool cut = false;  // it was ended: by the user, or after its time
};

// Runs the words in the program's folder with the program's input. `work`: a folder for its files.
Result<Step> run_step(const std::string& work, const TrialOptions& options,
                      const std::vector<std::string>& words, double limit_s);

// Our own lines among what the program wrote to standard error.
void show_own_lines(const std::string& errors);

}  // namespace deadheat::apps
