// A confirmer makes candidates happen in executions of a program and reports what each execution
// showed. The engine (engine.h) decides when and where executions run; the confirmer decides which
// execution comes next, and writes the evidence.
//
// There are three: schedule (threads under our scheduler), process/trials (branches of a recording)
// and validate (jobs in a program that was built for it and that anyone may have started). The fake
// one in engine_test.cc shows how little is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/result.h"

namespace deadheat::confirm {

// Undisturbed executions come first: whatever happens in them is not harm caused by a race. Then
// serial ones, in which each thread or process runs as far as it can. Then trials.
enum class Stage : uint8_t { kUndisturbed, kSerial, kTrials };

struct Slot {
  size_t number = 0;
  int processor = 0;  // for an execution that should be pinned to one
};

struct Progress {
  uint64_t candidates = 0, decided = 0, true_races = 0, harmful = 0, diverged = 0, gone = 0;
  uint64_t trials = 0;       // in this run
  uint64_t trials_left = 0;  // upper bound; 0: unknown
  double seconds = 0;
  Stage stage = Stage::kUndisturbed;
  std::string current;  // the candidate of the last trial, in one line
};

// Something that runs: a program, a replay, an observation of a program that someone else started.
// Its destructor leaves nothing running.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;
  // A descriptor that becomes readable when it may have ended; -1: the engine polls ended().
  virtual int done_fd() const = 0;
  // Never blocks. The engine calls it often, so the execution checks its own limits (time, output)
  // here.
  virtual bool ended() = 0;
  // Why it can never say anything: nobody is left to run it. The campaign ends with that.
  virtual Status abandoned() const { return Ok{}; }
  // Returns at once; the execution ends soon afterwards.
  virtual void kill() = 0;
};

class Confirmer {
 public:
  Confirmer() = default;
  Confirmer(const Confirmer&) = delete;
  Confirmer& operator=(const Confirmer&) = delete;
  virtual ~Confirmer() = default;
  // Starts the next execution of that stage. nullptr: none is wanted now; the result of a running
  // one may change that.
  virtual Result<std::unique_ptr<Execution>> start(Stage stage, const Slot& slot) = 0;
  // Called when an execution from start() has ended. `cut_off`: the engine ended it because time
  // ran out or the user stopped it; the result says nothing about the program.
  virtual Status finish(Stage stage, Execution& execution, bool cut_off) = 0;
  // Called when all executions of the stage have ended and there is time for the next stage.
  virtual Status learn(Stage) { return Ok{}; }
  virtual void describe(Progress& progress) const = 0;
};

}  // namespace deadheat::confirm
