// A synthetic multi-threaded execution with a realistic mix: private data, data under its lock,
// data that is read by all and written once, and a few racy places. The same seed gives the same
// events on every machine.
//
// Modelled on what public traces show: 80 to 90% of events are accesses, a critical section holds a
// handful of them, threads touch mostly their own data, and a few thousand sites cover everything.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/trace/event.h"

namespace deadheat::bench {

struct WorkloadOptions {
  uint64_t events = 1'000'000;
  uint32_t threads = 16;
  uint32_t locks = 64;
  uint32_t shared_variables = 4096;   // each under one of the locks
  uint32_t private_variables = 2048;  // per thread
  uint32_t read_shared_variables = 1024;
  uint32_t racy_variables = 8;
  uint32_t sites = 3000;
  double racy = 0.01;  // share of a thread's unlocked accesses that go to a racy variable
  double regions = 0;  // share of steps that call uninstrumented code
  uint64_t seed = 1;
};

// Yields the events one by one: forks first, joins last.
class Workload {
 public:
  explicit Workload(const WorkloadOptions& options);
  // False at the end. Ranges of region events are in ranges().
  bool next(trace::Event& event);
  const std::vector<trace::Range>& ranges() const { return ranges_; }

  // Names of its address spaces: "V12" for variables, "L3" for locks.
  static constexpr uint64_t kVariables = 0x100000000000ULL;
  static constexpr uint64_t kLocks = 0x200000000000ULL;
  static constexpr uint64_t kRegionObjects = 0x500000000000ULL;

 private:
  struct Thread {
    std::vector<trace::Event> queue;  // what it does next, last first
  };
  void plan(uint32_t thread);
  void plan_locked(uint32_t thread);
  void plan_region(uint32_t thread);
  void plan_loop(uint32_t thread);
  uint64_t skewed(uint64_t bound);
  uint64_t private_base(uint32_t thread) const;
  trace::Event make(uint32_t thread, trace::EventKind kind, uint64_t address, uint32_t site);
  trace::Event access(uint32_t thread, uint64_t variable, double write, uint32_t site);

  WorkloadOptions options_;
  Random random_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> lock_holder_;  // thread + 1; 0: free
  std::vector<trace::Range> ranges_;
  uint64_t emitted_ = 0;
  uint32_t forked_ = 1, joined_ = 1, current_ = 0, burst_ = 0;
};

}  // namespace deadheat::bench
