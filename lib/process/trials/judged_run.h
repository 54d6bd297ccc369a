// A run that ended, judged: its outcome, and what the user's own checkers said of it.
#pragma once

#include <string>
#include <vector>

#include "lib/process/judge/checkers.h"
#include "lib/process/trials/target.h"

namespace deadheat::process::trials {

// Commands of the user's that judge a run (judge/user_checker.h): after it, and beside it.
struct UserCheckers {
  std::vector<std::string> after, beside;
  // All of them, in the order in which their words come.
  std::vector<std::string> all() const;
};

// What one of them said, by its place in UserCheckers::all(); kNone: all is well.
using CheckerWords = std::vector<model::Consequence>;

Result<judge::Outcome> outcome_of(const Target& target, const std::string& folder,
                                  const replay::RunReport& report, int64_t started_ns);
Result<judge::Outcome> outcome_of_recording(const Target& target);

// Runs those that come after, and reads what those beside said.
Result<CheckerWords> ask_checkers(const Target& target, const UserCheckers& checkers,
                                  const std::string& folder, const replay::RunReport& report,
                                  double most_s);

}  // namespace deadheat::process::trials
