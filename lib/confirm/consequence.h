// The consequence of an execution, judged against executions without interference.
//
// Crash, uncaught exception, failed assertion, hang and deadlock are consequences unless the
// program does that every time. A trial that took too long is a hang only if the scheduler says so:
// it released every thread and the program still did not end. An exit status or an output is a
// consequence if it occurs in none of the undisturbed runs and not in the serial one (each thread
// runs as long as it can). Output that varies among those runs by itself shows nothing and is not
// compared.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/confirm/children.h"
#include "lib/model/evidence.h"

namespace deadheat::confirm {

// One execution as seen from outside.
struct Observation {
  ChildResult child;
  std::string output, errors;         // masked, lines sorted
  std::string failure;                // abort message of the C or C++ library
  bool scheduled = false;             // it ran under the scheduler, which says whether it hung
  bool released = false;              // the scheduler released all threads
  std::string deadlock, hang, crash;  // as reported by the scheduler; may be empty
  bool runtime_refused = false;       // status 77 with our message: the program itself did not run

  // We killed it for its time or its output. Whether the program would have run for ever or was
  // just held by our scheduler is unknown.
  bool shows_nothing() const {
    return scheduled && deadlock.empty() && hang.empty() &&
           (child.timed_out || child.too_much_output);
  }
};

// Reads "out" and "err" from the child's folder.
Observation observe(const ChildResult& child, const std::string& folder);

// Classifies the end without a comparison: a non-zero exit status counts.
model::Consequence end_of(const Observation& seen);
// Whether it ended like an earlier execution. Its output may be unknown, so a failed assertion and
// an uncaught exception are recognised by their signal, and other output is not compared.
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
