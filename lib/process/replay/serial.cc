#include "lib/process/replay/serial.h"

#include <sys/syscall.h>

#include <algorithm>

namespace deadheat::process {
namespace {

bool is_sleep(uint32_t number) {
  return number == SYS_nanosleep || number == SYS_clock_nanosleep || number == SYS_sched_yield ||
         number == SYS_poll || number == SYS_ppoll || number == SYS_select ||
         number == SYS_pselect6 || number == SYS_epoll_wait || number == SYS_epoll_pwait;
}

}  // namespace

bool Serial::may_go(TracedTask& task) {
  if (turn_ == 0) turn_ = task.process;
  if (created_.empty()) created_.push_back(task.process);
  // Death holds nobody up: a process that is ending has nothing more to do.
  return task.ending || task.process == turn_;
}

// Who asks again and again for what another is to do would keep the turn for ever: it sleeps in
// between, or makes more calls than a program has reason to.
void Serial::left(TracedTask& task) {
  constexpr uint32_t kMostCalls = 100000, kMostSleeps = 20;
  calls_++;
  sleeps_ += is_sleep(task.call.number());
  if ((calls_ < kMostCalls && sleeps_ < kMostSleeps) || created_.size() < 2) return;
  calls_ = sleeps_ = 0;
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
  if (turn_ != task.process) return;
  calls_ = sleeps_ = 0;
  turn_ = created_.empty()                        ? 0
          : policy_ == SerialPolicy::kOldestFirst ? created_.front()
                                                  : created_.back();
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
