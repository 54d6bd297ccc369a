// A linearised run: one process at a time, each as long as it can go on. Its outcome is one that no
// overlap of calls can be blamed for, so a branch that ends like a serial run has done no harm.
#pragma once

#include "lib/process/trace/tracer.h"

namespace deadheat::process {

enum class SerialPolicy : uint8_t {
  kChildFirst,   // a new process runs to its end before its parent goes on
  kOldestFirst,  // the parent goes on until it waits; then the oldest
  kNewestFirst,  // the parent goes on until it waits; then the newest
};

class Serial : public Controller {
 public:
  explicit Serial(SerialPolicy policy) : policy_(policy) {}
  bool may_go(TracedTask& task) override;
  void forked(TracedTask& parent, TracedTask& child) override;
  void left(TracedTask& task) override;
  void ended(TracedTask& task) override;
  bool stuck(Tracer& tracer) override;

 private:
  SerialPolicy policy_;
  int turn_ = 0;                     // process whose turn it is; 0: whoever comes first
  uint32_t calls_ = 0, sleeps_ = 0;  // since it was given
  std::vector<int> created_;         // processes, oldest first
};

}  // namespace deadheat::process
