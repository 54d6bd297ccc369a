#include "lib/process/replay/serial.h"

#include <algorithm>

namespace deadheat::process {

bool Serial::may_go(TracedTask& task) {
  if (turn_ == 0) turn_ = task.process;
  if (created_.empty()) created_.push_back(task.process);
  // Death holds nobody up: a process that is ending has nothing more to do.
  return task.ending || task.process == turn_;
}

// Who asks again and again for what another is to do would keep the turn for ever.
void Serial::left(TracedTask& /*task*/) {
  constexpr uint32_t kMostCalls = 2000;
  if (++calls_ < kMostCalls || created_.size() < 2) return;
  calls_ = 0;
  const auto mine = std::find(created_.begin(), created_.end(), turn_);
  turn_ = mine == created_.end() || std::next(mine) == created_.end() ? created_.front()
                                                                      : *std::next(mine);
}

void Serial::forked(TracedTask& parent, TracedTask& child) {
  if (child.process == parent.process) return;
  created_.push_back(child.process);
  if (policy_ == SerialPolicy::kChildFirst) turn_ = child.process;
}

void Serial::ended(TracedTask& task) {
  if (task.id() != task.process) return;
  std::erase(created_, task.process);
  if (turn_ == task.process)
    turn_ = policy_ == SerialPolicy::kChildFirst && !created_.empty() ? created_.back() : 0;
}

// The one whose turn it is waits for somebody: the next in the policy's order that stands at a
// call.
bool Serial::stuck(Tracer& tracer) {
  std::vector<int> waiting;
  for (const int process : created_) {
    const auto& tasks = tracer.tasks();
    const bool stands = std::any_of(tasks.begin(), tasks.end(), [&](const auto& one) {
      return one.second.process == process && one.second.held;
    });
    if (stands && process != turn_) waiting.push_back(process);
  }
  if (waiting.empty()) return false;
  turn_ = policy_ == SerialPolicy::kOldestFirst ? waiting.front() : waiting.back();
  return true;
}

}  // namespace deadheat::process
