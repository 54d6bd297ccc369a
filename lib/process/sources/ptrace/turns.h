// Tasks that share memory run one at a time and switch only at calls: repeating their turns then
// repeats their accesses to common memory (RacePro, section 4).
//
// A task needs the turn of its memory to run its own code. It releases it when it sleeps in a call
// (not before: the first to wait is woken first), after many calls in a row, or when it yields;
// calls by which threads wait for each other (futex and similar) are stopped at for that reason. A
// task that never makes a call (a loop that spins on memory) is interrupted after a while: then we
// no longer control the order of memory accesses, and this is counted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/process/sources/ptrace/tracee.h"

namespace deadheat::process::sources {

struct TracedTask;

// Calls that order threads of one process and touch nothing visible to another process. Recorded
// only while memory is shared, and only under ptrace.
bool is_thread_call(uint32_t number);

class Turns {
 public:
  // A thread or process was created that shares its creator's memory.
  void share(TracedTask& creator, TracedTask& made);
  // A shared mapping that others may have, or will inherit by fork. Object: 0, 0 if it has no
  // file.
  void map(TracedTask& task, uint64_t device, uint64_t inode, bool writable,
           std::map<int, TracedTask>& tasks);
  // Its own memory again (exec), or none (the end).
  void leave(TracedTask& task);

  bool has(const TracedTask& task) const;  // whether it may run its own code
  void want(TracedTask& task, int signal);
  void give_up(const TracedTask& task);
  void take(TracedTask& task);

  // Free turns with the tasks that want them, longest waiting first, and all others that share that
  // memory.
  struct Free {
    uint64_t memory = 0;
    std::vector<int> waiting;
  };
  std::vector<Free> free() const;
  bool anyone_waits() const { return !waiting_.empty(); }

  // Holders that sleep in a call lose their turn if others want it. False: a holder is still
  // entering a call, or executing one.
  bool settle(const std::map<int, TracedTask>& tasks);
  // At the end of a call: whether it may continue without asking.
  bool may_keep(const TracedTask& task);

  // Holders that used that much processor time without a call although others wait.
  std::vector<int> too_long(const std::map<int, TracedTask>& tasks);

 private:
  struct Holder {
    int task = 0;
    uint64_t since_ticks = 0;
    uint32_t calls = 0;
  };
  bool is_wanted(uint64_t memory) const;
  void enter(TracedTask& task);
  void merge(uint64_t from, uint64_t into, std::map<int, TracedTask>& tasks);

  uint64_t next_memory_ = 1;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> mapped_;  // device, inode: the memory
  std::map<uint64_t, Holder> holders_;
  std::vector<std::pair<uint64_t, int>> waiting_;  // memory, task
};

}  // namespace deadheat::process::sources
