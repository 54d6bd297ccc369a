// What an execution did to the user, judged against executions in which nobody interfered.
//
// Crash, uncaught exception, failed assertion, hang and deadlock are consequences unless the
// program does that every time. A trial that took too long is a hang only if the scheduler says so:
// it let every thread go, and the program still did not end. An exit status or an output is one if
// it occurs in none of the undisturbed runs, nor in the serial one (each thread runs as long as it
// can). Output that varies among those by itself says nothing, and is then not compared.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/confirm/children.h"
#include "lib/model/evidence.h"

namespace deadheat::confirm {

// One execution, as seen from outside.
struct Observation {
  ChildResult child;
  std::string output, errors;         // masked, lines sorted
  std::string failure;                // of the abort messages that the C and C++ libraries print
  bool scheduled = false;             // it ran under the scheduler, which then says whether it hung
  bool released = false;              // the scheduler let everybody go
  std::string deadlock, hang, crash;  // as the scheduler says; may be empty
  bool runtime_refused = false;  // status 77 and a word of ours: it was no execution of the program

  // We ended it, for its time or its output. Whether the program would have gone on for ever, or
  // only stood in our scheduler, is not known.
  bool shows_nothing() const {
    return scheduled && deadlock.empty() && hang.empty() &&
           (child.timed_out || child.too_much_output);
  }
};

// Reads "out" and "err" of the child's folder.
Observation observe(const ChildResult& child, const std::string& folder);

// What its end is, without anything to compare with: an exit status that is not 0 counts.
model::Consequence end_of(const Observation& seen);
// Whether it ended as an earlier execution did. What it printed may be unknown, so a failed
// assertion and an uncaught exception are told by their signal, other output not at all.
bool same_end(const model::Consequence& then, const Observation& seen);

class Baseline {
 public:
  void add(const Observation& observation);
  bool output_varies() const { return outputs_.size() > 1 || errors_.size() > 1; }
  size_t runs() const { return kinds_.size(); }
  double slowest_s() const { return slowest_s_; }

  model::Consequence judge(const Observation& observation) const;

 private:
  std::set<std::string> outputs_, errors_;
  std::set<int> statuses_;
  std::vector<model::ConsequenceKind> kinds_;
  double slowest_s_ = 0;
};

}  // namespace deadheat::confirm
