// What a confirmer is: it makes candidates happen in executions of a program, and says what each
// execution showed. The engine (engine.h) decides when and where executions run; the confirmer
// decides which execution comes next, and writes the evidence.
//
// There are three: schedule (threads under a scheduler of ours), process/trials (branches of a
// recording) and validate (jobs in a program that was built for it, whoever started it). The fake
// one in engine_test.cc shows how little is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/result.h"

namespace deadheat::confirm {

// Executions without interference come first: what they do is no harm. Then serial ones, each
// thread or process as far as it can go. Then trials.
enum class Stage : uint8_t { kUndisturbed, kSerial, kTrials };

struct Slot {
  size_t number = 0;
  int processor = 0;  // for an execution that should stay on one
};

struct Progress {
  uint64_t candidates = 0, decided = 0, confirmed = 0, harmful = 0, diverged = 0, gone = 0;
  uint64_t trials = 0;       // in this run
  uint64_t trials_left = 0;  // at most; 0: not known
  double seconds = 0;
  Stage stage = Stage::kUndisturbed;
  std::string current;  // the candidate of the last trial, in one line
};

// Something that runs: a program, a replay, a look at a program that somebody else started. When it
// goes away it leaves nothing running.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;
  // Readable when it may have ended; -1: the engine asks ended() often instead.
  virtual int done_fd() const = 0;
  // Never waits. Asked often: limits of its own (time, output) are checked here.
  virtual bool ended() = 0;
  // It ends soon after.
  virtual void kill() = 0;
};

class Confirmer {
 public:
  Confirmer() = default;
  Confirmer(const Confirmer&) = delete;
  Confirmer& operator=(const Confirmer&) = delete;
  virtual ~Confirmer() = default;
  // Starts one more execution of that stage. nullptr: none is wanted now; what one of those that
  // run shows may change that.
  virtual Result<std::unique_ptr<Execution>> start(Stage stage, const Slot& slot) = 0;
  // An execution of start()'s has ended. `cut_off`: the engine ended it, since the time is over or
  // the user wants to stop; it says nothing about the program.
  virtual Status finish(Stage stage, Execution& execution, bool cut_off) = 0;
  // All executions of the stage have ended, and there is time for the next.
  virtual Status learn(Stage) { return Ok{}; }
  virtual void describe(Progress& progress) const = 0;
};

}  // namespace deadheat::confirm
