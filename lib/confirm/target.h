// The program that is tried.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace deadheat::confirm {

// How the program is run, in every execution alike.
struct Target {
  std::vector<std::string> program;
  std::string directory;  // to run in
  std::string input;      // a file for standard input; may be empty
  // The environment for a mode library with these settings: {"schedule", {"raw_path=..."}}.
  std::function<std::map<std::string, std::string>(const std::string& mode,
                                                   const std::vector<std::string>& settings)>
      environment;
};

}  // namespace deadheat::confirm
