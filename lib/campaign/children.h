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
#include <string>
#include <vector>

#include "lib/base/descendants.h"
#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::campaign {

struct ChildRequest {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // set over what this process has
  std::string directory;                           // to run in; empty: this one
  std::string input;   // a file for standard input; empty: nothing to read
  std::string folder;  // its own; "out" and "err" are made in it. Named in its environment.
  double timeout_s = 0;
  bool keep_output = true;  // false: what it prints goes nowhere; "out" stays empty
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

  Status start(uint64_t tag, const ChildRequest& request);
  struct Ended {
    uint64_t tag = 0;
    ChildResult result;
  };
  // Those that ended, after at most `patience_ms`.
  std::vector<Ended> wait(int patience_ms);
  size_t running() const { return children_.size(); }
  void end_all();
  void tell_all(int signal);
  // Whether addresses are the same in every run; some containers do not let us ask for that.
  bool same_addresses() const { return same_addresses_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    uint64_t tag = 0;
    int64_t pid = 0;
    ScopedFd handle;
    std::string folder;
    Clock::time_point started;
    double timeout_s = 0;
    bool timed_out = false, too_much_output = false;
  };
  void check_limits(Child& child);
  void end_orphans(const std::string& folder);
  bool end_some_orphans(const std::string& folder);

  std::vector<Child> children_;
  int personality_before_ = 0;
  bool same_addresses_ = false;
  AdoptOrphans adopt_;  // nested: a checker runs while trials do
};

}  // namespace deadheat::campaign
