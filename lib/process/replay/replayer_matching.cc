// Determines which recorded call a task is about to make.
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "lib/process/recording/syscall_table.h"
#include "lib/process/replay/replayer.h"

namespace deadheat::process::replay {
namespace {

constexpr size_t kLookAhead = 32;  // recorded events that may be missing in between
constexpr size_t kLookAheadPlain =
    4;  // for calls without a name: the next wait looks like any other

// The call's change to the mask; old recordings lack it.
bool same_signals(const recording::Event& event, const sources::PendingCall& call) {
  const std::string made = call.event();
  const auto now = recording::Event(made.data()).find(DEADHEAT_ATTACH_DATA, 1);
  const auto recorded = event.find(DEADHEAT_ATTACH_DATA, 1);
  return !now || !recorded || *now == *recorded;
}

}  // namespace

bool Replayer::matches(const recording::Event& event, const sources::TracedTask& task) const {
  const deadheat_process_event& head = event.head();
  if (head.kind != DEADHEAT_PROCESS_SYSCALL && head.kind != DEADHEAT_PROCESS_FORK &&
      head.kind != DEADHEAT_PROCESS_EXEC)
    return false;
  if (head.number != task.call.number()) return false;
  const recording::SyscallEntry& entry = recording::syscall_entry(head.number);
  const bool same_first = head.arguments[0] == task.call.argument(0);
  if (entry.is(recording::kSameFd) && !same_first) return false;
  // Threads wait at addresses, which are the same in a repetition.
  if (head.number == SYS_futex && (!same_first || head.arguments[1] != task.call.argument(1)))
    return false;
  if (head.number == SYS_clock_gettime && !same_first) return false;
  if (entry.effect == recording::Effect::kSignalState &&
      (!same_first || !same_signals(event, task.call)))
    return false;
  const bool creates = recording::makes_new_name(head.number, head.arguments) &&
                       recording::makes_new_name(head.number, task.call.head().arguments);
  for (uint16_t argument = 0; argument < 4; argument++) {
    if (!(entry.capture & (recording::kPath0 << argument))) continue;
    const auto recorded = event.path(argument);
    const std::string* now = task.call.path(argument);
    if (recorded && now != nullptr && !names_.same(*recorded, *now, creates)) return false;
  }
  return true;
}

// A change of signal actions or masks, or a signal: shells make many, and their number depends on
// what the shells find and on whether a signal comes. What the branch is about is not quiet.
bool Replayer::is_quiet(const OrderPlan::Step& step) const {
  if (step.node != kNoNode && anchor(step.node) >= 0) return false;
  const deadheat_process_event& head = recording_.events()[step.event].head();
  return head.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED ||
         (head.kind == DEADHEAT_PROCESS_SYSCALL &&
          recording::syscall_entry(head.number).effect == recording::Effect::kSignalState);
}

// The first step after the next `most`, not counting quiet ones.
size_t Replayer::end_of_look_ahead(const State& state, size_t most) const {
  size_t at = state.next;
  for (; at < state.steps->size() && most > 0; at++)
    if (!is_quiet((*state.steps)[at])) most--;
  return at;
}

// A quiet change that the recording does not have here.
bool Replayer::is_of_no_account(const State& state, const sources::TracedTask& task) const {
  if (recording::syscall_entry(task.call.number()).effect != recording::Effect::kSignalState)
    return false;
  const size_t end = end_of_look_ahead(state, kLookAheadPlain);
  for (size_t at = state.next; at < end; at++)
    if (matches(recording_.events()[(*state.steps)[at].event], task)) return false;
  return true;
}

void Replayer::learn_names(const recording::Event& event, const sources::TracedTask& task) {
  if (!recording::makes_new_name(event.head().number, event.head().arguments)) return;
  for (uint16_t argument = 0; argument < 4; argument++) {
    const auto recorded = event.path(argument);
    const std::string* now = task.call.path(argument);
    if (recorded && now != nullptr) names_.learn(*recorded, *now);
  }
}

// Finds the recorded call that the task is about to make.
void Replayer::look_up(State& state, const sources::TracedTask& task) {
  state.current.reset();
  state.forced = state.forked = false;
  const bool named =
      (recording::syscall_entry(task.call.number()).capture &
       (recording::kPath0 | recording::kPath1 | recording::kPath2 | recording::kPath3)) != 0;
  const size_t end = end_of_look_ahead(state, named ? kLookAhead : kLookAheadPlain);
  for (size_t at = state.next; at < end; at++) {
    const OrderPlan::Step& step = (*state.steps)[at];
    if (!matches(recording_.events()[step.event], task)) {
      // Never skip what the branch is about: a loop that asks once more makes calls that look like
      // later ones.
      if (plan_.leads_to_anchor(step)) break;
      continue;
    }
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
    state.strayed_before = std::exchange(state.strayed, 0);
    return;
  }
  const std::string made = task.call.event();
  note("not recorded", recording::Event(made.data()), task);
  report_.extra++;
  state.strayed++;
  const recording::SyscallEntry& entry = recording::syscall_entry(task.call.number());
  strangers_ |= entry.effect == recording::Effect::kFork || entry.is(recording::kExecutes);
}

bool Replayer::can_be_undone(const State& state, size_t from) const {
  return std::none_of(
      state.steps->begin() + static_cast<std::ptrdiff_t>(from),
      state.steps->begin() + static_cast<std::ptrdiff_t>(state.next),
      [&](const OrderPlan::Step& step) { return step.node != kNoNode && anchor(step.node) >= 0; });
}

void Replayer::undo(State& state, size_t from) {
  for (size_t at = from; at < state.next; at++)
    if ((*state.steps)[at].node != kNoNode) plan_.undone((*state.steps)[at].node);
  state.next = from;
}

// One fork looks like another; the child's exec distinguishes them. A child that executes another
// program than the recorded one (a loop that asks once more sleeps in between) is not that child,
// which is still to come: its parent returns to before the fork.
void Replayer::disown(sources::TracedTask& task) {
  strangers_ = true;
  const State child = state(task);
  const size_t dot = task.path.rfind('.');
  if (!child.fork_step || dot == std::string::npos || tracer_ == nullptr) return;
  const std::string parent_path = task.path.substr(0, dot);
  const auto& tasks = tracer_->tasks();
  const auto parent = std::find_if(tracer_->tasks().begin(), tracer_->tasks().end(),
                                   [&](const auto& one) { return one.second.path == parent_path; });
  if (parent == tasks.end()) return;
  State& its = state(parent->second);
  const bool last = task.path == parent_path + "." + std::to_string(parent->second.children - 1);
  if (!last || !can_be_undone(its, *child.fork_step) || !can_be_undone(child, 0)) return;
  undo(state(task), 0);
  its.strayed = child.parent_strayed + static_cast<uint32_t>(its.next - *child.fork_step);
  if (its.current && its.current->event >= (*its.steps)[*child.fork_step].event)
    its.current.reset();
  undo(its, *child.fork_step);
  states_.erase(task.path);
  call_stranger(parent->second, task);
}

// A process that is not in the recording must not take a recorded one's path.
void Replayer::call_stranger(sources::TracedTask& parent, sources::TracedTask& child) {
  strangers_ = true;
  parent.children--;
  child.path = parent.path + ".+" + std::to_string(child.id());
}

void Replayer::note(const char* what, const recording::Event& event,
                    const sources::TracedTask& task) {
  if (!report_.first.empty()) return;
  report_.first = recording::syscall_name(event.head().number);
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

}  // namespace deadheat::process::replay
