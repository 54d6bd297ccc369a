// Signals in a replay: each is deferred to its place in the recording, or in the branch.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "lib/process/replay/replayer.h"

namespace deadheat::process::replay {

// The signal that interrupted this call in the recording, directly after it; 0: none.
int Replayer::signal_follows(const State& state) const {
  if (state.next >= state.steps->size()) return 0;
  const deadheat_process_event& after =
      recording_.events()[(*state.steps)[state.next].event].head();
  const bool broke_off = after.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED && after.arguments[2] != 0;
  return broke_off ? static_cast<int>(after.number) : 0;
}

// Answered with the recorded "interrupted", whatever it would find now. Not those that wait with
// another mask: the signal comes only inside them. Not those with a time limit: the kernel keeps
// its rest. Not threads: another may take the signal.
bool Replayer::can_be_broken_off(const State& state, const sources::TracedTask& task,
                                 int64_t result) const {
  constexpr int64_t kRestartWithRest = -516;
  if (!recording::was_interrupted(result) || result == kRestartWithRest || task.memory != 0)
    return false;
  const int signal = signal_follows(state);
  const auto mask = task.tracee.signal_mask();
  return signal != 0 && mask && (*mask & (uint64_t{1} << (signal - 1))) == 0;
}

// Such a signal must be pending before the call is made.
bool Replayer::signal_is_due(const State& state, const sources::TracedTask& task) const {
  const int signal = signal_follows(state);
  return signal == 0 || state.forced || has_signal(task, signal, false);
}

// Signals of one number do not queue: if a child ends before its parent was notified of an earlier
// end, the two notifications merge.
bool Replayer::parent_heard_of_others(const State& mine, const sources::TracedTask& task) const {
  const size_t dot = task.path.rfind('.');
  if (!mine.current || mine.forced || dot == std::string::npos) return true;
  const auto parent = states_.find(task.path.substr(0, dot));
  if (parent == states_.end()) return true;
  const uint64_t now = recording_.events()[mine.current->event].head().begin;
  const State& its = parent->second;
  for (size_t at = its.next; at < its.steps->size(); at++) {
    const deadheat_process_event& head = recording_.events()[(*its.steps)[at].event].head();
    if (head.begin > now) return true;
    if (head.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED && head.number == SIGCHLD) return false;
  }
  return true;
}

// The notification of one child's end was merged with another's, unlike in the recording: deliver
// it again.
bool Replayer::tell_again(sources::TracedTask& task) {
  State& mine = state(task);
  if (mine.ended_children <= mine.told_of || has_signal(task, SIGCHLD, false)) return false;
  for (size_t at = mine.next; at < mine.steps->size(); at++) {
    const deadheat_process_event& head = recording_.events()[(*mine.steps)[at].event].head();
    if (head.kind == DEADHEAT_PROCESS_SYSCALL) return false;
    if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || head.number != SIGCHLD) continue;
    siginfo_t news{};
    news.si_signo = SIGCHLD;
    news.si_code = static_cast<int>(head.arguments[0]);
    news.si_pid = static_cast<pid_t>(head.arguments[3]);
    task.deferred.push_back(news);
    return true;
  }
  return false;
}

bool Replayer::has_signal(const sources::TracedTask& task, int signal, bool open) const {
  const bool kept = std::any_of(task.deferred.begin(), task.deferred.end(),
                                [&](const siginfo_t& one) { return one.si_signo == signal; });
  if (!kept && !task.tracee.pending(signal)) return false;
  const auto mask = open ? task.tracee.signal_mask() : std::nullopt;
  return !mask || (*mask & (uint64_t{1} << (signal - 1))) == 0;
}

// A signal that came after the call, and before the program's own code continued.
bool Replayer::may_run_on(sources::TracedTask& task) {
  State& mine = state(task);
  if (live_ || mine.next >= mine.steps->size() || std::exchange(mine.forced, false)) return true;
  const deadheat_process_event& head = recording_.events()[(*mine.steps)[mine.next].event].head();
  if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED) return true;
  return has_signal(task, static_cast<int>(head.number), false);
}

// Whether the branch delivers a later signal before this call.
bool Replayer::is_to_be_met_early(const State& state) const {
  return branch_.change == races::BranchChange::kSignalEarlier && anchors_done_ < 2 &&
         state.current && state.current->node == branch_.order[2];
}

bool Replayer::stands_for_early_signal(const State& state) const {
  return branch_.change == races::BranchChange::kSignalEarlier && !live_ &&
         state.next < state.steps->size() && (*state.steps)[state.next].node == branch_.order[2];
}

int Replayer::signal_of_branch() const {
  for (const uint32_t node : branch_.order) {
    const deadheat_process_event& head = recording_.events()[model_.nodes[node].event].head();
    if (head.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED) return static_cast<int>(head.number);
  }
  return 0;
}

// Whether this call was interrupted by a signal in the recording and must now end by itself.
bool Replayer::is_to_end_first(const State& state) const {
  return branch_.change == races::BranchChange::kSignalLater && state.current &&
         state.current->node == branch_.order[1];
}

// Whether the recording, or the branch, has that signal before the task's next call.
bool Replayer::comes_next(const State& state, int signal) const {
  constexpr uint32_t kLost =
      16;  // consecutive unrecorded calls: its place in the recording is unknown now
  if (state.strayed > kLost) return true;
  if (stands_for_early_signal(state) && state.awaited == signal) return anchors_done_ == 1;
  for (size_t at = state.next; at < state.steps->size(); at++) {
    const deadheat_process_event& head = recording_.events()[(*state.steps)[at].event].head();
    if (head.kind == DEADHEAT_PROCESS_SIGNAL_SENT) continue;
    if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED) return false;
    if (static_cast<int>(head.number) == signal) return true;
  }
  return true;
}

bool Replayer::deliver(sources::TracedTask& task, const siginfo_t& signal, bool at_call) {
  return at_call && (live_ || comes_next(state(task), signal.si_signo));
}

bool Replayer::send_again(sources::TracedTask& task, int signal) {
  if (live_) return true;
  const State& mine = state(task);
  // A fork with a pending signal is not made; once made, it is over when the signal arrives.
  const bool fork =
      mine.current && recording_.events()[mine.current->event].head().kind == DEADHEAT_PROCESS_FORK;
  return comes_next(mine, signal) && (!fork || mine.forked);
}

void Replayer::delivered(sources::TracedTask& task, int signal) {
  State& mine = state(task);
  mine.told_of += signal == SIGCHLD;
  if (stands_for_early_signal(mine) && mine.awaited == signal) {
    report_.reached = true;
    return go_live(tracer_->next_number());
  }
  constexpr size_t kMostSignals = 32;  // pending at the same time
  const size_t end = std::min(mine.steps->size(), mine.next + kMostSignals);
  for (size_t at = mine.next; at < end; at++) {
    const OrderPlan::Step& step = (*mine.steps)[at];
    const deadheat_process_event& head = recording_.events()[step.event].head();
    if (head.kind == DEADHEAT_PROCESS_SYSCALL) return;
    if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || static_cast<int>(head.number) != signal)
      continue;
    mine.next = at + 1;
    finish(mine, step, head.end);
    return;
  }
}

}  // namespace deadheat::process::replay
