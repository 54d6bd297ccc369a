// Tasks that share memory run one at a time, and change over only at calls: then what they do to
// their common memory is repeated when their turns are (RacePro, section 4).
//
// A task needs the turn of its memory to run its own code. It gives it up when it sleeps in a call
// (not before: who waits first is woken first), or after many calls in a row, or when it yields;
// calls by which threads wait for each other (futex and the like) are stopped at for that reason.
// Who never calls (a loop that spins on memory) is interrupted after a while: then the order of
// accesses to memory is not ours any more, and that is counted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/process/sources/ptrace/tracee.h"

namespace deadheat::process::sources {

struct TracedTask;

// Calls that order threads of one process and touch nothing that another process sees. Recorded
// only while memory is shared, and only under ptrace.
bool is_thread_call(uint32_t number);

class Turns {
 public:
  // A thread or a process that shares its creator's memory was made.
  void share(TracedTask& creator, TracedTask& made);
  // A shared mapping that others may have, or will get by fork. Object: 0, 0 for one without a
  // file.
  void map(TracedTask& task, uint64_t device, uint64_t inode, bool writable,
           std::map<int, TracedTask>& tasks);
  // An own memory again (exec), or none (the end).
  void leave(TracedTask& task);

  bool has(const TracedTask& task) const;  // may run its own code
  void want(TracedTask& task, int signal);
  void give_up(const TracedTask& task);
  void take(TracedTask& task);

  // Free turns with those who want them, longest waiting first; with whoever else shares that
  // memory.
  struct Free {
    uint64_t memory = 0;
    std::vector<int> waiting;
  };
  std::vector<Free> free() const;
  bool anyone_waits() const { return !waiting_.empty(); }

  // Holders that sleep in a call lose their turn if others want it. False: somebody is still on the
  // way into a call, or through it.
  bool settle(const std::map<int, TracedTask>& tasks);
  // At the end of a call: may go on without asking.
  bool may_keep(const TracedTask& task);

  // Holders that made no call for that much of their processor time although others wait.
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
