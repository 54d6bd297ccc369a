// The program under test.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace deadheat::confirm {

// How every execution runs the program.
struct Target {
  std::vector<std::string> program;
  std::string directory;  // working directory
  std::string input;      // file for standard input; may be empty
  // Returns the environment for a mode library with these settings: {"schedule", {"raw_path=..."}}.
  std::function<std::map<std::string, std::string>(const std::string& mode,
                                                   const std::vector<std::string>& settings)>
      environment;
};

}  // namespace deadheat::confirm
