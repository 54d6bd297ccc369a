// The user's programs that run beside the command, in its sandbox: for example, a test suite
// against a live server. They see its files and its loopback sockets, and are not traced.
//
// The tracer reaps every child of the sandbox's first process and sleeps while nothing moves, so an
// intermediate process starts the programs, waits for them, and reports how they ended. If the
// command is a server, which never ends by itself, it then ends it (SIGTERM, after a while
// SIGKILL).
#pragma once

#include <string>
#include <vector>

#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::replay {

struct BesideEnd {
  int status = 0;  // as in a shell
  bool timed_out = false;
};

class Beside {
 public:
  // `folder` gets besideN.out and besideN.err; opened here, outside the sandbox.
  static Result<Beside> prepare(const std::vector<std::string>& commands,
                                const sandbox::Command& like, const std::string& folder);
  bool empty() const { return commands_.empty(); }
  std::vector<int> descriptors() const;  // which the sandbox must not close
  // Inside, once. `server` is ended after all of them have ended; 0: nothing.
  void start(sandbox::Inside& inside, int server, double timeout_s);
  bool started() const { return watcher_ != 0; }
  // Inside, when the command has ended: gives them the rest of their time.
  std::vector<BesideEnd> finish();

 private:
  struct Shared;
  void watch(sandbox::Inside& inside, int server, double timeout_s);

  std::vector<sandbox::Command> commands_;
  std::vector<ScopedFd> files_;
  Shared* shared_ = nullptr;  // a page shared by the intermediate process and the first one
  int watcher_ = 0;
};

}  // namespace deadheat::process::replay
