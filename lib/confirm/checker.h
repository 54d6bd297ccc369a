// A checker of the user's: any command that judges one execution, of threads and of processes
// alike.
//
//   CHECKER OUT ERR STATUS STATE
//
// The shell runs it with four words more. OUT and ERR are files with what the program printed,
// STATUS is as a shell gives it (128 + number for a signal), STATE is a folder: for a recording,
// the files that the command changed, and nothing else; otherwise the one in which the program ran.
// It fails by a status that is not 0; the first line that it prints is the reason.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/confirm/children.h"
#include "lib/model/evidence.h"

namespace deadheat::confirm {

constexpr double kCheckerSeconds = 60;

// What to start; `folder` has "out" and "err".
std::vector<std::string> checker_words(const std::string& checker, const std::string& folder,
                                       int status, const std::string& state);

// What its end means; kNone: all is well. Error: it could not be run.
Result<model::Consequence> checker_consequence(const std::string& checker, int status,
                                               const std::string& out, const std::string& err);

// Runs it here, outside of any sandbox.
Result<model::Consequence> run_checker(const std::string& checker, const std::string& folder,
                                       const ChildResult& child, const std::string& state);

}  // namespace deadheat::confirm
