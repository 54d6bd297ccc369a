// A finished run with its judgement: its outcome, and the results of the user's own checkers.
#pragma once

#include <string>
#include <vector>

#include "lib/process/judge/checkers.h"
#include "lib/process/trials/target.h"

namespace deadheat::process::trials {

// The user's commands that judge a run (judge/user_checker.h): after it, and beside it.
struct UserCheckers {
  std::vector<std::string> after, beside;
  // All of them, in the order of their results.
  std::vector<std::string> all() const;
};

// The result of one checker, by its index in UserCheckers::all(); kNone: success.
using CheckerWords = std::vector<model::Consequence>;

Result<judge::Outcome> outcome_of(const Target& target, const std::string& folder,
                                  const replay::RunReport& report, int64_t started_ns);
Result<judge::Outcome> outcome_of_recording(const Target& target);

// Runs the checkers that come after, and reads the results of those beside.
Result<CheckerWords> ask_checkers(const Target& target, const UserCheckers& checkers,
                                  const std::string& folder, const replay::RunReport& report,
                                  double most_s);

}  // namespace deadheat::process::trials
