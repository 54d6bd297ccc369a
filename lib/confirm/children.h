// The processes of a campaign: started, captured, limited, and gone with all they started.
//
// One thread, many children. Each is the leader of a process group of its own; what it starts dies
// with it, also what left the group (we adopt it, and find it by the folder in its environment;
// what has another environment dies when no child runs any more). Standard output and error go to
// files in the child's folder.
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
  std::map<std::string, std::string> environment;  // set over what this process has
  std::string directory;                           // to run in; empty: this one
  std::string input;   // a file for standard input; empty: nothing to read
  std::string folder;  // its own; "out" and "err" are made in it. Named in its environment.
  double timeout_s = 0;
  bool keep_output = true;               // false: what it prints goes nowhere; "out" stays empty
  std::vector<std::string> empty_first;  // files that another try of it may have written
};

struct ChildResult {
  int64_t pid = 0;
  int status = 0;  // exit status, when signal is 0
  int signal = 0;
  bool timed_out = false;
  bool too_much_output = false;  // it was ended for it
  double seconds = 0;
};

class Children {
 public:
  static constexpr uint64_t kMostOutput = 64ULL << 20;  // bytes of a stream; then it is ended

  Children();
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  Result<uint64_t> start(const ChildRequest& request);  // its number
  // If it has ended; asked once more, it is not known any more. Never waits; ends one that is
  // beyond its limits.
  std::optional<ChildResult> ended(uint64_t child);
  // The same after at most `patience_ms`.
  std::optional<ChildResult> wait(uint64_t child, int patience_ms);
  int done_fd(uint64_t child) const;  // readable when it has ended; -1: this kernel cannot tell
  void kill(uint64_t child);
  size_t running() const { return children_.size(); }
  void end_all();
  void tell_all(int signal);
  // Whether addresses are the same in every run; some containers do not let us ask for that.
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
  AdoptOrphans adopt_;  // nested: a checker runs while trials do
};

// Runs one to its end, or to its limits.
Result<ChildResult> run_child(const ChildRequest& request);

// One execution of a program, wherever it runs. Its folder is removed with it.
class ProgramExecution : public Execution {
 public:
  explicit ProgramExecution(std::string folder) : folder_(std::move(folder)) {}
  ~ProgramExecution() override;
  virtual const ChildResult& result() const = 0;  // once it has ended
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
