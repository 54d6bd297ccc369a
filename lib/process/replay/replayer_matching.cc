// Which recorded call is the one that a task is about to make.
#include <sys/syscall.h>

#include <algorithm>

#include "lib/process/replay/replayer.h"
#include "lib/process/syscall_table.h"

namespace deadheat::process {
namespace {

constexpr size_t kLookAhead = 32;  // recorded events that may be missing in between
constexpr size_t kLookAheadPlain =
    4;  // for calls without a name: the next wait looks like any other

// The first argument is a descriptor, which a repeated execution gives the same number.
bool is_about_a_descriptor(Effect effect) {
  switch (effect) {
    case Effect::kRead:
    case Effect::kReadAt:
    case Effect::kWrite:
    case Effect::kWriteAt:
    case Effect::kSeek:
    case Effect::kClose:
    case Effect::kDup:
    case Effect::kDup2:
    case Effect::kFstat:
    case Effect::kGetdents:
    case Effect::kFcntl:
    case Effect::kFlock:
    case Effect::kTruncateFd:
    case Effect::kChangeMetaFd:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Replayer::matches(const Event& event, const TracedTask& task) const {
  const deadheat_process_event& head = event.head();
  if (head.kind != DEADHEAT_PROCESS_SYSCALL && head.kind != DEADHEAT_PROCESS_FORK &&
      head.kind != DEADHEAT_PROCESS_EXEC)
    return false;
  if (head.number != task.call.number()) return false;
  const SyscallEntry& entry = syscall_entry(head.number);
  const bool same_first = head.arguments[0] == task.call.argument(0);
  if (is_about_a_descriptor(entry.effect) && !same_first) return false;
  // Threads wait at addresses, and those are the same again.
  if (head.number == SYS_futex && (!same_first || head.arguments[1] != task.call.argument(1)))
    return false;
  if (head.number == SYS_clock_gettime && !same_first) return false;
  const bool creates = makes_new_name(head.number, head.arguments) &&
                       makes_new_name(head.number, task.call.head().arguments);
  for (uint16_t argument = 0; argument < 4; argument++) {
    if (!(entry.capture & (kPath0 << argument))) continue;
    const auto recorded = event.path(argument);
    const std::string* now = task.call.path(argument);
    if (recorded && now != nullptr && !names_.same(*recorded, *now, creates)) return false;
  }
  return true;
}

void Replayer::learn_names(const Event& event, const TracedTask& task) {
  if (!makes_new_name(event.head().number, event.head().arguments)) return;
  for (uint16_t argument = 0; argument < 4; argument++) {
    const auto recorded = event.path(argument);
    const std::string* now = task.call.path(argument);
    if (recorded && now != nullptr) names_.learn(*recorded, *now);
  }
}

// Finds the recorded call that the task is about to make.
void Replayer::look_up(State& state, const TracedTask& task) {
  state.current.reset();
  state.forced = state.forked = false;
  const bool named =
      (syscall_entry(task.call.number()).capture & (kPath0 | kPath1 | kPath2 | kPath3)) != 0;
  const size_t end =
      std::min(state.steps->size(), state.next + (named ? kLookAhead : kLookAheadPlain));
  for (size_t at = state.next; at < end; at++) {
    const OrderPlan::Step& step = (*state.steps)[at];
    if (!matches(recording_.events()[step.event], task)) continue;
    for (size_t missed = state.next; missed < at; missed++) {
      const OrderPlan::Step& one = (*state.steps)[missed];
      const uint16_t kind = recording_.events()[one.event].head().kind;
      if (kind == DEADHEAT_PROCESS_SYSCALL || kind == DEADHEAT_PROCESS_FORK ||
          kind == DEADHEAT_PROCESS_EXEC) {
        note("not made", recording_.events()[one.event], task);
        report_.skipped++;
      }
      if (one.node != kNoNode) plan_.done(one.node);
    }
    learn_names(recording_.events()[step.event], task);
    state.next = at + 1;
    state.current = step;
    report_.matched++;
    state.strayed = 0;
    return;
  }
  const std::string made = task.call.event();
  note("not recorded", Event(made.data()), task);
  report_.extra++;
  state.strayed++;
}

void Replayer::note(const char* what, const Event& event, const TracedTask& task) {
  if (!report_.first.empty()) return;
  report_.first = syscall_name(event.head().number);
  for (uint16_t argument = 0; argument < 4; argument++)
    if (const auto path = event.path(argument)) report_.first += " " + std::string(*path);
  report_.first += " of process " + std::to_string(task.process) + " was " + what;
}

void Replayer::look_up_end(State& state) {
  state.looked_for_end = true;
  state.current.reset();
  for (size_t at = state.next; at < state.steps->size(); at++) {
    const OrderPlan::Step& step = (*state.steps)[at];
    if (recording_.events()[step.event].head().kind == DEADHEAT_PROCESS_EXIT) {
      state.current = step;
      state.next = at + 1;
      return;
    }
    if (step.node != kNoNode) plan_.done(step.node);
  }
}

}  // namespace deadheat::process
