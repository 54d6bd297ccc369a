// Runs the program under test as a shell would: same standard streams, same process group, its own
// signals. Only its environment differs.
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
  std::map<std::string, std::string> environment;  // overrides the variables of this process
  double timeout_s = 0;                            // 0: no limit
  std::function<void()> poll;                      // called a few times a second while it runs
  // Kill its descendants when it ends, and kill it when we end. Otherwise descendants are killed
  // only after a time-out: as with a shell, a program may leave others running.
  bool whole_tree = false;
};

struct Ended {
  int code = 0;  // exit code of the program; 128 + n after signal n
  bool timed_out = false;
  int told_to_stop = 0;  // the last SIGINT, SIGTERM or SIGHUP that we received meanwhile
};

// An Error if it could not be started; `code` is then the shell's status: 127, 126 or 77.
Result<Ended> launch(const Launch& what, int& code);

// The folder with the shared library of a mode ("detect", "record"), beside this program. If it is
// missing, the Error says what to do.
Result<std::string> runtime_folder(const std::string& mode);

// LD_LIBRARY_PATH with `folder` prepended.
std::string library_path(const std::string& folder);

}  // namespace deadheat::pipeline
