#include "lib/process/sources/ptrace/turns.h"

#include <sys/syscall.h>

#include <algorithm>

#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {
namespace {

// Hundredths of a second of processor time. A loop that spins on memory makes no progress until it
// is interrupted, so it costs that much; a long computation is split by it.
constexpr uint64_t kMostTicks = 100;
// A thread that polls for another's action must let it run.
constexpr uint32_t kMostCalls = 200;

}  // namespace

bool is_thread_call(uint32_t number) {
  switch (number) {
    case SYS_futex:
    case SYS_sched_yield:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_membarrier:
      return true;
    default:
      return false;
  }
}

// Gives the task a memory of its own that others may share from now on.
void Turns::enter(TracedTask& task) {
  if (task.memory != 0) return;
  task.memory = next_memory_++;
  holders_[task.memory] = {};
}

void Turns::share(TracedTask& creator, TracedTask& made) {
  enter(creator);
  made.memory = creator.memory;
  made.maps_shared = creator.maps_shared;
}

// Mappings without writers influence no task: most are caches of the C library.
void Turns::map(TracedTask& task, uint64_t device, uint64_t inode, bool writable,
                std::map<int, TracedTask>& tasks) {
  const auto known = mapped_.find({device, inode});
  if (!writable && (inode == 0 || known == mapped_.end())) return;
  task.maps_shared = true;
  if (inode != 0 && known != mapped_.end() && task.memory != 0)
    merge(task.memory, known->second, tasks);
  else if (inode != 0 && known != mapped_.end())
    task.memory = known->second;
  enter(task);
  if (inode != 0) mapped_[{device, inode}] = task.memory;
  // It has been running and continues.
  Holder& holder = holders_[task.memory];
  if (holder.task == 0) holder = {task.id(), task.tracee.ticks(), 0};
}

// Merges two turns; one of two holders asks again at its next call.
void Turns::merge(uint64_t from, uint64_t into, std::map<int, TracedTask>& tasks) {
  if (from == into) return;
  for (auto& [id, task] : tasks)
    if (task.memory == from) task.memory = into;
  for (auto& [memory, task] : waiting_)
    if (memory == from) memory = into;
  for (auto& [object, memory] : mapped_)
    if (memory == from) memory = into;
  if (holders_[into].task == 0) holders_[into] = holders_[from];
  holders_.erase(from);
}

void Turns::leave(TracedTask& task) {
  if (task.memory == 0) return;
  give_up(task);
  std::erase_if(waiting_, [&](const auto& one) { return one.second == task.id(); });
  task.memory = 0;
}

bool Turns::has(const TracedTask& task) const {
  return task.memory == 0 || holders_.at(task.memory).task == task.id();
}

void Turns::want(TracedTask& task, int signal) {
  task.turn_signal = signal;
  if (task.wants_turn) return;
  task.wants_turn = true;
  waiting_.emplace_back(task.memory, task.id());
}

void Turns::give_up(const TracedTask& task) {
  if (task.memory == 0) return;
  Holder& holder = holders_[task.memory];
  if (holder.task == task.id()) holder.task = 0;
}

void Turns::take(TracedTask& task) {
  std::erase_if(waiting_, [&](const auto& one) { return one.second == task.id(); });
  task.wants_turn = false;
  holders_[task.memory] = {task.id(), task.tracee.ticks(), 0};
}

std::vector<Turns::Free> Turns::free() const {
  std::vector<Free> all;
  for (const auto& [memory, task] : waiting_) {
    if (holders_.at(memory).task != 0) continue;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Free& one) { return one.memory == memory; });
    if (known == all.end())
      all.push_back({memory, {task}});
    else
      known->waiting.push_back(task);
  }
  return all;
}

bool Turns::is_wanted(uint64_t memory) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& one) { return one.first == memory; });
}

bool Turns::may_keep(const TracedTask& task) {
  if (task.memory == 0) return true;
  Holder& holder = holders_[task.memory];
  if (!is_wanted(task.memory)) holder.calls = 0;
  return ++holder.calls < kMostCalls && task.call.number() != SYS_sched_yield;
}

bool Turns::settle(const std::map<int, TracedTask>& tasks) {
  bool all = true;
  for (auto& [memory, holder] : holders_) {
    const auto task = tasks.find(holder.task);
    if (task == tasks.end() || !task->second.in_call || task->second.held || !is_wanted(memory))
      continue;
    if (task->second.sleeps())
      holder.task = 0;
    else
      all = false;
  }
  return all;
}

std::vector<int> Turns::too_long(const std::map<int, TracedTask>& tasks) {
  std::vector<int> found;
  for (auto& [memory, holder] : holders_) {
    const auto task = tasks.find(holder.task);
    if (!is_wanted(memory) || task == tasks.end() || task->second.in_call) continue;
    if (task->second.tracee.ticks() < holder.since_ticks + kMostTicks) continue;
    found.push_back(holder.task);
    holder.since_ticks += kMostTicks;
  }
  return found;
}

}  // namespace deadheat::process::sources
