// Reads raw reports (abi/raw_report.md) of the runtime line by line.
//
// The file grows while it is read, and several processes write to it. A line that cannot be parsed
// is skipped and counted; only its content is lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/counter.h"
#include "lib/model/candidate.h"

namespace deadheat::live {

struct RawModule {
  std::string path, build_id;
  uint64_t base = 0, begin = 0, end = 0;
  std::string instrumented;  // "no", "yes", "regions", "modelled"
};

struct RawPlace {
  uint32_t module = 0;
  uint64_t offset = 0;  // in the module's file address space
};
using RawStack = std::vector<RawPlace>;  // innermost first

struct RawLock {
  uint64_t address = 0;
  bool shared = false;
  RawStack stack;
};

struct RawAccess {
  model::AccessKind kind = model::AccessKind::kUnknown;
  uint64_t size = 0, address = 0;
  uint32_t thread = 0;
  RawStack stack;
  bool stack_lost = false;
  std::vector<RawLock> locks;
};

struct RawLocation {
  std::string kind;  // "global", "heap", "stack", "tls", "unknown"
  RawPlace place;
  uint64_t begin = 0, size = 0;
  uint32_t thread = 0;
  RawStack stack;
};

struct RawThread {
  uint32_t number = 0, kernel_id = 0, parent = 0;
  std::string name;
  RawStack stack;  // where it was created
  bool running = false;
};

struct RawRace {
  size_t process = 0;  // index into RawReports::processes
  uint64_t number = 0, address = 0, size = 0, count = 1;
  std::vector<RawAccess> accesses;  // two: the current one, then the earlier one
  // Mode "schedule" (abi/trial.md): which thread was released first, at which decision; both
  // atomic.
  uint64_t first = 0, decision = 0;
  bool atomic = false;
  RawLocation location;
  std::vector<RawThread> threads;
  bool near_region = false;
  std::vector<std::string> unseen;
};

// What ended a scheduled execution, or made it diverge from its log (abi/trial.md).
struct RawWaiter {
  uint32_t number = 0;
  std::string name, waits;  // "mutex", "condition", ...
  uint64_t object = 0;
  int64_t owner = -1;  // thread number
  RawStack stack;
};
struct RawDeadlock {
  size_t process = 0;
  uint64_t decision = 0;
  std::vector<RawWaiter> threads;
};
struct RawCrash {
  size_t process = 0;
  uint64_t decision = 0;
  uint32_t signal = 0, thread = 0;
  RawStack stack;
};
struct RawDivergence {
  size_t process = 0;
  uint64_t decision = 0;
  std::string text;
};

// One program image of one process: an exec starts another.
struct RawProcess {
  uint64_t pid = 0, parent = 0;
  std::vector<std::string> command;
  std::string mode, compiler, options;
  std::string suppressions;  // built into the program
  std::map<uint32_t, RawModule> modules;
  bool ended = false;
  uint64_t races = 0;  // from its last line, including repeated ones
  std::vector<std::string> notes;
};

class RawReports {
 public:
  static constexpr size_t kLongestLine = 16 << 20;
  static constexpr size_t kMostProcesses = 1 << 20;

  // Takes more bytes of the file; an incomplete last line is kept until the rest arrives.
  void feed(std::string_view bytes);
  void finish();  // the file is complete: an unfinished last line counts as damaged

  const std::vector<RawProcess>& processes() const { return processes_; }
  // The races since the last call.
  std::vector<RawRace> take_races() { return std::exchange(races_, {}); }
  const std::vector<RawDeadlock>& deadlocks() const { return deadlocks_; }
  const std::vector<RawDeadlock>& hangs() const { return hangs_; }
  bool released() const { return released_; }  // the scheduler released all threads
  const std::vector<RawCrash>& crashes() const { return crashes_; }
  const std::vector<RawDivergence>& divergences() const { return divergences_; }
  const Counters& counters() const { return counters_; }  // summed over all processes
  uint64_t damaged_lines() const { return damaged_; }

 private:
  void line(std::string_view text);
  size_t process_of(uint64_t pid);
  void add_counter(Counter counter);

  std::string rest_;
  bool skipping_ = false;  // inside a line that is too long
  std::vector<RawProcess> processes_;
  std::map<uint64_t, size_t> current_;  // the latest image of each pid
  std::vector<RawRace> races_;
  std::vector<RawDeadlock> deadlocks_, hangs_;
  bool released_ = false;
  std::vector<RawCrash> crashes_;
  std::vector<RawDivergence> divergences_;
  Counters counters_;
  uint64_t damaged_ = 0;
};

}  // namespace deadheat::live
