// A linearised run: one process at a time, each as long as it can continue; when it waits, the
// processes that it started precede others, so that a script and its programs run as a unit. Its
// outcome cannot be caused by an overlap, so a branch that ends like a serial run has done no harm.
// done no harm.
#pragma once

#include <string>
#include <vector>

#include "lib/process/replay/made_names.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::replay {

enum class SerialPolicy : uint8_t {
  kChildFirst,   // a new process runs to its end before its parent continues
  kOldestFirst,  // the parent continues until it waits; then the oldest child
  kNewestFirst,  // the parent continues until it waits; then the newest child
};

class Serial : public sources::Controller {
 public:
  explicit Serial(SerialPolicy policy) : policy_(policy) {}
  bool may_go(sources::TracedTask& task) override;
  void forked(sources::TracedTask& parent, sources::TracedTask& child) override;
  void left(sources::TracedTask& task) override;
  void ended(sources::TracedTask& task) override;
  bool may_bring_news(sources::TracedTask& task) override { return !task.tracee.only_sleeps(); }
  bool stuck(sources::Tracer& tracer) override;

  const std::vector<MadeName>& made() const { return made_; }

 private:
  struct Process {
    int id = 0;
    std::string path;  // child numbers from the root
  };
  void give_turn(const std::vector<Process>& waiting);
  bool pass_on_if_long();
  void note_name(const sources::TracedTask& task);

  SerialPolicy policy_;
  int turn_ = 0;                     // process with the turn; 0: the first to arrive
  std::string path_;                 // of that process
  uint32_t calls_ = 0, sleeps_ = 0;  // since it got the turn
  std::vector<Process> created_;     // oldest first
  std::vector<MadeName> made_;
};

}  // namespace deadheat::process::replay
