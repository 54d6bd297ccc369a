// Validates the candidates of a findings file in executions of a program built for them (run), or
// in a running program (attach), and adds the evidence.
//
// An execution has a few jobs at once; a process validates the first whose site it reaches. The
// first executions have no jobs: they show the program's undisturbed behaviour, and which
// candidates meet at the same bytes at all.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/base/counter.h"
#include "lib/base/time_budget.h"
#include "lib/confirm/confirmer.h"
#include "lib/confirm/runner.h"
#include "lib/confirm/target.h"
#include "lib/model/finding.h"
#include "lib/validate/binary.h"
#include "lib/validate/course.h"

namespace deadheat::validate {

struct Options {
  confirm::Target target;
  std::vector<std::string> binaries;  // the program and the libraries that it loads
  Taus taus;
  uint32_t jobs = 4;       // at once in an execution
  uint64_t most_runs = 0;  // 0: until all is decided
  uint64_t undisturbed = 2;
  double timeout_s = 0;  // the user's word on when the program hangs; 0: none
  uint32_t budget_ppm = 0, standstill_us = 0;
  bool steer = true;
  bool only_open = false;  // leave out what is proven by now, whoever proved it
  TimeBudget time = TimeBudget(0);
  std::string checker;
  std::set<std::string> only;  // display ids
  std::string work;            // a folder
  std::string repeat;          // the command that makes it happen again
  // Starts the program; none: run() itself. Beside another confirmer it must be the other's,
  // because waiting for children waits for all of them.
  confirm::Runner* runner = nullptr;
  std::function<void(const confirm::Progress&)> progress;
  std::function<bool()> stopped;
  std::function<bool()> ask;  // at an interrupt: whether the program misbehaved; may be empty
  std::function<void(const std::string&)> say;
};

struct Outcome {
  confirm::Progress progress;
  bool stopped = false, out_of_time = false;
  Counters counters;
  std::vector<std::string> problems;
};

// An Error when the program cannot be validated at all: it was not built for these candidates.
Result<Outcome> run(const Options& options, model::FindingsFile& file);
Result<Outcome> attach(const Options& options, pid_t process, model::FindingsFile& file);

// For a program built for detection that will be attached to: the file with which its runtime must
// be started (option validate_sites).
Result<std::string> sites_file(const Options& options, const model::FindingsFile& file);

// run() beside another confirmer: the other's engine drives both, and the first proof of a
// candidate counts. Failure to work is reported as a problem of its outcome, nothing else.
class Beside {
 public:
  // `file` outlives it, and its findings keep their places until end().
  static Result<std::unique_ptr<Beside>> create(Options options, model::FindingsFile& file);
  virtual ~Beside() = default;
  virtual confirm::Confirmer& confirmer() = 0;
  virtual Outcome end() = 0;  // after the engine's last execution
};

}  // namespace deadheat::validate
