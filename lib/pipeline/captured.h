// A command whose output is nobody's: it goes to files or nowhere, with a time limit, and ends when
// the user stops us. What it reports while it runs is taken as it comes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::pipeline {

std::string self_folder();  // where our own programs are

struct Captured {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // set over what this process has
  std::string directory;                           // to run in; empty: here
  std::string input;                               // a file for standard input; empty: nothing
  std::string work;                                // a folder for its files
  double limit_s = 0;
  std::function<void()> poll;  // called a few times a second while it runs; may be empty
};

struct CapturedEnd {
  int status = 0;  // 128 + n after signal n
  std::string errors;
  double seconds = 0;
  bool cut = false;  // it was ended: by the user, or after its time
};

// At its limit, or when the user stops us, the command is asked to end (SIGINT when the user said
// so, else SIGTERM) and killed with all it started if it does not.
Result<CapturedEnd> run_captured(const Captured& what);

}  // namespace deadheat::pipeline
