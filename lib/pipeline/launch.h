// Runs the program under test as the shell would: same standard streams, same process group, its
// own signals. What it was given differs in the environment only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::pipeline {

struct Launch {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // set over what this process has
  double timeout_s = 0;                            // 0: no limit
  std::function<void()> poll;                      // called a few times a second while it runs
  // What it started ends with it, and it ends with us. Else that is so only after a time-out: a
  // program may leave others running, as from a shell.
  bool whole_tree = false;
};

struct Ended {
  int code = 0;  // of the program; 128 + n after signal n
  bool timed_out = false;
  int told_to_stop = 0;  // the last signal of SIGINT, SIGTERM, SIGHUP that we were sent meanwhile
};

// Error when it could not be started; `code` is then what the shell gives: 127, 126 or 77.
Result<Ended> launch(const Launch& what, int& code);

// The folder with the shared library of a mode ("detect", "record"), beside this program; an Error
// with what to do when it is not there.
Result<std::string> runtime_folder(const std::string& mode);

// LD_LIBRARY_PATH with `folder` in front of what this process has.
std::string library_path(const std::string& folder);

}  // namespace deadheat::pipeline
