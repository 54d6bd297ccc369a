#include "lib/process/replay/serial.h"

#include <algorithm>

#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::replay {
namespace {

// The number of common ancestors of two processes; each counts as its own ancestor.
size_t common(const std::string& one, const std::string& other) {
  size_t parts = 0, at = 0;
  while (at < one.size() && at < other.size() && one[at] == other[at]) parts += one[at++] == '.';
  const bool whole =
      (at == one.size() || one[at] == '.') && (at == other.size() || other[at] == '.');
  return parts + whole;
}

}  // namespace

bool Serial::may_go(sources::TracedTask& task) {
  if (turn_ == 0) {
    turn_ = task.process;
    path_ = task.path;
  }
  if (created_.empty()) created_.push_back({task.process, task.path});
  // An ending process is not held: it has nothing more to do.
  return task.ending || task.process == turn_;
}

// A process that polls for another's action would keep the turn for ever. It is recognised because
// it sleeps in between, or makes more calls than a program has reason to.
void Serial::left(sources::TracedTask& task) {
  note_name(task);
  calls_++;
  sleeps_ += recording::syscall_entry(task.call.number()).is(recording::kPolls);
  pass_on_if_long();
}

void Serial::note_name(const sources::TracedTask& task) {
  if (task.last_result < 0 || made_.size() == kMostMadeNames) return;
  const auto argument =
      recording::made_name_argument(task.call.number(), task.call.head().arguments);
  const std::string* const path = argument ? task.call.path(*argument) : nullptr;
  if (path != nullptr) made_.push_back({task.path, task.call.number(), *path});
}

bool Serial::pass_on_if_long() {
  constexpr uint32_t kMostCalls = 100000, kMostSleeps = 20;
  if ((calls_ < kMostCalls && sleeps_ < kMostSleeps) || created_.size() < 2) return false;
  calls_ = sleeps_ = 0;
  auto next = std::find_if(created_.begin(), created_.end(),
                           [&](const Process& one) { return one.id == turn_; });
  if (next == created_.end() || ++next == created_.end()) next = created_.begin();
  turn_ = next->id;
  path_ = next->path;
  return true;
}

void Serial::forked(sources::TracedTask& parent, sources::TracedTask& child) {
  if (child.process == parent.process) return;
  created_.push_back({child.process, child.path});
  if (policy_ != SerialPolicy::kChildFirst) return;
  turn_ = child.process;
  path_ = child.path;
}

// The closest relative; among those, the policy's choice.
void Serial::give_turn(const std::vector<Process>& waiting) {
  const Process* next = nullptr;
  size_t nearest = 0;
  for (const Process& one : waiting) {
    const size_t near = common(one.path, path_);
    if (next != nullptr &&
        (policy_ == SerialPolicy::kOldestFirst ? near <= nearest : near < nearest))
      continue;
    next = &one;
    nearest = near;
  }
  turn_ = next == nullptr ? 0 : next->id;
  path_ = next == nullptr ? "" : next->path;
}

void Serial::ended(sources::TracedTask& task) {
  if (task.id() != task.process) return;
  std::erase_if(created_, [&](const Process& one) { return one.id == task.process; });
  if (turn_ != task.process) return;
  calls_ = sleeps_ = 0;
  give_turn(created_);
}

// The process with the turn sleeps, and no event is due meanwhile: its time counts as passed. Or it
// waits for another process: the next one that is held at a call gets the turn.
bool Serial::stuck(sources::Tracer& tracer) {
  for (auto& [id, task] : tracer.tasks()) {
    if (task.process != turn_ || task.held || !task.tracee.only_sleeps()) continue;
    sleeps_++;
    return pass_on_if_long() || tracer.wake(task);
  }
  std::vector<Process> waiting;
  for (const Process& process : created_) {
    const auto& tasks = tracer.tasks();
    const bool stands = std::any_of(tasks.begin(), tasks.end(), [&](const auto& one) {
      return one.second.process == process.id && one.second.held;
    });
    if (stands && process.id != turn_) waiting.push_back(process);
  }
  if (waiting.empty()) return false;
  give_turn(waiting);
  return true;
}

}  // namespace deadheat::process::replay
