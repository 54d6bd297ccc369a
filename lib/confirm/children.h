// The child processes of a campaign: starts them, captures their output, enforces limits, and ends
// them together with everything they started.
//
// One thread manages many children. Each child leads its own process group, and its descendants die
// with it, including those that left the group: we adopt them and recognise them by the folder name
// in their environment. Descendants with another environment die when no child runs any more.
// Standard output and error go to files in the child's folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/descendants.h"
#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/confirm/confirmer.h"

namespace deadheat::confirm {

struct ChildRequest {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // overrides the variables of this process
  std::string directory;                           // working directory; empty: ours
  std::string input;                               // file for standard input; empty: no input
  std::string folder;  // its own folder; "out" and "err" are created there. Its environment names
                       // it.
  double timeout_s = 0;
  bool keep_output = true;               // false: discard its output; "out" stays empty
  std::vector<std::string> empty_first;  // files to truncate: an earlier attempt may have written
                                         // them
};

struct ChildResult {
  int64_t pid = 0;
  int status = 0;  // exit status, when signal is 0
  int signal = 0;
  bool timed_out = false;
  bool too_much_output = false;  // killed because of it
  double seconds = 0;
};

class Children {
 public:
  static constexpr uint64_t kMostOutput = 64ULL << 20;  // bytes per stream; beyond this the child
                                                        // is killed

  Children();
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  Result<uint64_t> start(const ChildRequest& request);  // returns its number
  // The result if the child has ended; after that the number is no longer valid. Never blocks.
  // Kills a child that exceeds its limits.
  std::optional<ChildResult> ended(uint64_t child);
  // The same, waiting for at most `patience_ms`.
  std::optional<ChildResult> wait(uint64_t child, int patience_ms);
  int done_fd(uint64_t child) const;  // readable when the child has ended; -1: the kernel has no
                                      // pidfds
  void kill(uint64_t child);
  size_t running() const { return children_.size(); }
  void end_all();
  void tell_all(int signal);
  // Whether addresses are the same in every run; some containers do not permit that.
  bool same_addresses() const { return same_addresses_; }

 private:
  friend class ChildExecution;
  using Clock = std::chrono::steady_clock;
  struct Child {
    uint64_t number = 0;
    int64_t pid = 0;
    ScopedFd handle;
    std::string folder;
    Clock::time_point started;
    double timeout_s = 0;
    bool timed_out = false, too_much_output = false;
  };
  const Child* find(uint64_t child) const;
  void check_limits(Child& child);
  void end_orphans(const std::string& folder);
  bool end_some_orphans(const std::string& folder);

  std::vector<Child> children_;
  uint64_t started_ = 0;
  int personality_before_ = 0;
  bool same_addresses_ = false;
  AdoptOrphans adopt_;  // nested: a checker runs during trials
};

// Runs one child until it ends or exceeds a limit.
Result<ChildResult> run_child(const ChildRequest& request);

// One execution of a program, on any machine. The destructor removes its folder.
class ProgramExecution : public Execution {
 public:
  explicit ProgramExecution(std::string folder) : folder_(std::move(folder)) {}
  ~ProgramExecution() override;
  virtual const ChildResult& result() const = 0;  // valid once it has ended
  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
};

class ChildExecution : public ProgramExecution {
 public:
  ChildExecution(Children& children, uint64_t child, std::string folder)
      : ProgramExecution(std::move(folder)), children_(children), child_(child) {}
  ~ChildExecution() override;
  int done_fd() const override { return children_.done_fd(child_); }
  bool ended() override;
  void kill() override { children_.kill(child_); }
  const ChildResult& result() const override { return *result_; }

 private:
  Children& children_;
  const uint64_t child_;
  std::optional<ChildResult> result_;
};

}  // namespace deadheat::confirm
