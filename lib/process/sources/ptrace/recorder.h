// The controller of a recording: every call may proceed, but calls that cannot block are
// serialised, so that their brackets do not overlap and the recording knows their order.
//
// Calls that may wait for other tasks (pipes, waits, locks, sockets) are never held back and hold
// no others back. Costs nothing while only one task is in a call.
#pragma once

#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {

class Recorder : public Controller {
 public:
  bool may_go(TracedTask& task) override;
  void going(Tracer& tracer, TracedTask& task) override;
  void left(TracedTask& task) override;
  void ended(TracedTask& task) override;
  bool held_keeps_turn() override { return true; }
  bool stuck(Tracer& tracer) override;

 private:
  bool at_once(const TracedTask& task) const;
  int inside_ = 0;  // the task whose call must end first; 0: none
};

}  // namespace deadheat::process::sources
