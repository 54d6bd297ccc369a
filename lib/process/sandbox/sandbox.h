// Runs a command without changing the machine: in an overlay over the whole file system and in its
// own PID, mount, IPC, UTS, network and user namespaces, with few capabilities and a system call
// filter. docs/threat-model.md states what it protects against.
//
// run() forks the sandbox's first process (PID 1 there: "init"), which prepares the mounts and then
// calls `body`. The body runs inside as PID 1, starts the command with Inside::start, reaps or
// traces, and returns bytes to the caller. Nothing outlives init: when it ends, or when the tool is
// killed, the kernel ends every process of the namespace and drops the mounts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/process/sandbox/permissions.h"
#include "lib/process/sandbox/upper_folder.h"

namespace deadheat::process::sandbox {

struct Command {
  std::vector<std::string> words;
  std::string directory;
  std::vector<std::string> environment;  // NAME=value; complete
  uint32_t user = 0, group = 0, mask = 022;
  bool same_addresses = true;  // no address randomisation
  // Its streams 0, 1, 2; opened outside. -1: /dev/null.
  int standard_in = -1, standard_out = -1, standard_error = -1;
};

struct SandboxOptions {
  bool in_place = false;      // no overlay: the command changes the real files
  bool host_network = false;  // no network namespace
  std::string scratch;  // folder outside for upper and work folders; empty: a tmpfs that is removed
                        // with the sandbox
  std::string keep_upper;  // non-empty: after the run the changed files are left here (moved, or
                           // copied out of the tmpfs)
  std::vector<std::string>
      layers;  // folders laid over the host's files, first on top (a recording's checkpoint)
  uint64_t most_bytes = 0;  // of changed files; 0: half of the memory
  uint32_t most_processes = 4096;
  uint64_t most_memory = 0;  // bytes of all its processes and changed files; 0: half of the memory
  double timeout_s = 0;      // then everything in it is killed; 0: no limit
  int processor = -1;        // pins everything to this one
  std::string host_name = "deadheat";
  Permissions allow;             // more than ordinary programs need
  std::vector<int> descriptors;  // for the body; all others are closed in the sandbox
};

// The body's interface, inside.
class Inside {
 public:
  virtual ~Inside() = default;
  // Forks, sets up user, directory, streams and addresses, calls `before_exec` in the child and
  // calls exec. Returns the PID in the namespace. If exec fails, the child prints the reason to its
  // standard error and exits with 127 or 126.
  virtual Result<int> start(const Command& command, const std::function<void()>& before_exec) = 0;
  // Sets the PID of the next fork in this namespace.
  virtual bool set_next_pid(int pid) = 0;
  // Waits until that process ends, reaping any others that end; returns its status as in waitpid.
  // For bodies that do not trace.
  virtual int wait_for(int pid) = 0;
  // Kills and reaps everything except the caller: afterwards nothing changes any more.
  virtual void end_all() = 0;
  // The changes so far; none with in_place.
  virtual const std::vector<UpperFolder>& uppers() const = 0;
};

struct SandboxResult {
  std::string bytes;  // what the body returned
  bool timed_out = false;
  bool too_many_processes =
      false;       // all were ended for this reason; if forks just fail, `problems` says so
  int signal = 0;  // init itself was killed by it
  std::vector<std::string> problems;  // what could not be isolated, one line each
};

class Sandbox {
 public:
  // An Error says what this machine lacks for it and what still works.
  static Result<Sandbox> create(const SandboxOptions& options);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();  // ends everything in it

  using Body = std::function<std::string(Inside&)>;
  Status start(Body body);  // returns once init runs
  // Becomes readable when the sandbox has ended; for polling several sandboxes.
  int done_fd() const;
  // PID of init as seen from outside; -1 when not running.
  int init_pid() const;
  // Waits for its end.
  Result<SandboxResult> finish();
  void kill();

 private:
  struct State;
  explicit Sandbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace deadheat::process::sandbox
