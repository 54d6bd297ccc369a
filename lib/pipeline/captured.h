// Runs a command whose output the user does not see: it goes to files or is discarded. The command
// has a time limit and ends when the user stops us. Its reports are read while it runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::pipeline {

std::string self_folder();  // the folder of our own programs

struct Captured {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // overrides the variables of this process
  std::string directory;                           // working directory; empty: ours
  std::string input;                               // file for standard input; empty: no input
  std::string work;                                // folder for its files
  double limit_s = 0;
  std::function<void()> poll;  // called a few times a second while it runs; may be empty
};

struct CapturedEnd {
  int status = 0;  // 128 + n after signal n
  std::string errors;
  double seconds = 0;
  bool cut = false;  // we ended it: the user stopped us, or its time was over
};

// At its limit, or when the user stops us, the command is asked to end (SIGINT if the user pressed
// Ctrl-C, else SIGTERM). If it does not, it is killed with everything it started.
Result<CapturedEnd> run_captured(const Captured& what);

}  // namespace deadheat::pipeline
