#include "lib/process/replay/replayer.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/process/recording/syscall_table.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process::replay {

Replayer::Replayer(const recording::Recording& recording, const effects::Model& model,
                   const races::Branch& branch, double patience_s)
    : recording_(recording),
      model_(model),
      branch_(branch),
      plan_(recording, model, branch),
      patience_s_(patience_s),
      clock_(recording) {}

Replayer::State& Replayer::state(const sources::TracedTask& task) {
  State& state = states_[task.path];
  if (state.steps == nullptr) {
    static const std::vector<OrderPlan::Step> kNothing;
    const auto* steps = plan_.steps(task.path);
    state.steps = steps != nullptr ? steps : &kNothing;
  }
  return state;
}

std::optional<std::pair<int64_t, std::string>> Replayer::answer(sources::TracedTask& task) {
  // An unrecorded clock call continues from the recorded ones.
  const auto clock = [&] { return clock_.now(task.call.number(), task.call.argument(0)); };
  if (live_) return clock();
  State& mine = state(task);
  mine.awaited = 0;
  if (is_of_no_account(mine, task)) {
    mine.current.reset();
    mine.forced = true;
    return std::nullopt;
  }
  if (mine.next < mine.steps->size()) {
    const deadheat_process_event& head = recording_.events()[(*mine.steps)[mine.next].event].head();
    if (head.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED) {
      mine.awaited = static_cast<int>(head.number);
      mine.current.reset();
      mine.forced = false;
      return std::nullopt;
    }
  }
  look_up(mine, task);
  if (!mine.current) {
    if (!task.executed && recording::syscall_entry(task.call.number()).is(recording::kExecutes))
      disown(task);
    return clock();
  }
  if (is_to_be_met_early(mine)) {
    // Not this call yet: first the signal, and then the same call again.
    mine.awaited = signal_of_branch();
    mine.next--;
    mine.current.reset();
    report_.matched--;
    return std::nullopt;
  }
  const recording::Event& event = recording_.events()[mine.current->event];
  // We do not control how long a thread waits in vain, but we do control that it did.
  if (event.head().number == SYS_futex && event.head().result == -ETIMEDOUT)
    return std::pair{event.head().result, std::string()};
  if (!is_to_end_first(mine) && can_be_broken_off(mine, task, event.head().result))
    return std::pair{event.head().result, std::string()};
  const bool kept_read =
      event.head().number == SYS_read && event.find(DEADHEAT_ATTACH_DATA, 1).has_value();
  if ((recording::syscall_entry(event.head().number).effect != recording::Effect::kInput &&
       !kept_read) ||
      event.head().result < 0)
    return std::nullopt;
  return recorded_input(event);
}

int Replayer::anchor(uint32_t node) const {
  const auto found = std::find(branch_.order.begin(), branch_.order.end(), node);
  return found == branch_.order.end() ? -1 : static_cast<int>(found - branch_.order.begin());
}

// An unrecorded call: the task makes it because its anchor came elsewhere.
bool Replayer::stands_after_anchor(const State& state) const {
  if (!state.anchored || state.current || state.forced || state.awaited != 0) return false;
  for (size_t at = state.next; at < state.steps->size(); at++) {
    const uint32_t node = (*state.steps)[at].node;
    if (node != kNoNode) return !plan_.in_cut(node) && anchor(node) < 0;
  }
  return true;
}

bool Replayer::may_go_now(State& state) {
  if (stands_after_anchor(state)) return false;
  if (!state.current || state.current->node == kNoNode || state.forced) return true;
  const uint32_t node = state.current->node;
  const int place = anchor(node);
  if (place >= 0)
    return static_cast<size_t>(place) == anchors_done_ && plan_.waits_for(node) == kNoNode &&
           (place > 0 || not_all_come_ || plan_.anchors_are_next());
  if (!branch_.order.empty() && !plan_.in_cut(node)) return false;  // the end of the cut
  return plan_.waits_for(node) == kNoNode;
}

bool Replayer::may_go(sources::TracedTask& task) {
  if (live_) return true;
  State& mine = state(task);
  if (task.ending && !mine.looked_for_end) {
    mine.awaited = 0;
    look_up_end(mine);
  }
  if (mine.awaited != 0 && stands_for_early_signal(mine)) {
    if (anchors_done_ == 0) return false;
    if (!has_signal(task, mine.awaited, true) && has_signal(task, mine.awaited, false))
      diverge("the signal is blocked at " + describe(branch_.order[2]), Divergence::kProven);
    return live_ || has_signal(task, mine.awaited, true);
  }
  if (mine.awaited != 0) {
    if (has_signal(task, mine.awaited, true)) return true;
    if (!mine.forced && !has_signal(task, mine.awaited, false)) return false;
    mine.awaited = 0;  // it does not arrive, or not here: the call proceeds without it
    mine.next++;
    look_up(mine, task);
  }
  if (!branch_.order.empty() && tracer_ != nullptr && tracer_->seconds() > patience_s_) {
    diverge("the calls did not come within " + std::to_string(static_cast<int>(patience_s_)) + " s",
            Divergence::kUncontrolled);
    return true;
  }
  if (task.ending) return may_go_now(mine) && parent_heard_of_others(mine, task);
  return may_go_now(mine) && signal_is_due(mine, task);
}

void Replayer::going(sources::Tracer& tracer, sources::TracedTask& task) {
  tracer_ = &tracer;
  State& mine = state(task);
  // A call returns EINTR only with a signal: in this order the call ends by itself.
  const int signal = signal_follows(mine);
  if (task.fed && recording::was_interrupted(task.fed->first) &&
      (signal == 0 || !has_signal(task, signal, true)))
    task.fed.reset();
  if (live_) return;
  task.postpone = mine.awaited != 0 && !task.ending;
  if (!mine.current || task.ending) return;
  const recording::Event& event = recording_.events()[mine.current->event];
  clock_.made(event);
  if (is_to_end_first(mine)) {
    const uint32_t number = event.head().number;
    if (number == SYS_rt_sigsuspend || number == SYS_pause)
      return diverge(describe(mine.current->node) + " waits for nothing but the signal",
                     Divergence::kProven);
    task.block_signals();
  }
  if (event.head().number == SYS_futex && event.head().result == 0) sources::wait_longer(task);
  // Read no more from a pipe than was recorded, though more may be there.
  if (event.head().number == SYS_read && event.head().result > 0 &&
      static_cast<uint64_t>(event.head().result) < task.call.argument(2)) {
    const auto object = task.tracee.object(static_cast<int>(task.call.argument(0)));
    if (object && S_ISFIFO(object->mode))
      task.change_argument(2, static_cast<uint64_t>(event.head().result));
  }
  if (event.head().kind == DEADHEAT_PROCESS_FORK) {
    task.block_signals();
    tracer.set_next_pid(static_cast<int>(event.head().result));
  }
  const bool wildcard = branch_.change == races::BranchChange::kOtherWakeup &&
                        branch_.specific_task != ~0u && mine.current->node != kNoNode &&
                        anchor(mine.current->node) >= 0;
  if (!wildcard || (event.head().number != SYS_wait4 && event.head().number != SYS_waitid)) return;
  const int32_t child = model_.tasks[branch_.specific_task].process;
  mine.specific = child;
  const bool by_id = event.head().number == SYS_waitid;
  if (by_id) task.change_argument(0, P_PID);
  task.change_argument(by_id ? 1 : 0, static_cast<uint64_t>(child));
}

void Replayer::finish(State& state, const OrderPlan::Step& step, uint64_t number) {
  if (step.node == kNoNode || plan_.is_done(step.node)) return;
  plan_.done(step.node);
  if (anchor(step.node) < 0) return;
  state.anchored = true;
  if (++anchors_done_ == branch_.order.size()) {
    report_.reached = report_.diverged.empty();
    go_live(number);
  }
}

// poll may find more descriptors ready than recorded, since an ending process closes its files one
// by one: descriptors that were not ready then are not reported.
bool Replayer::change_result(sources::TracedTask& task, int64_t& result) {
  if (live_ || result <= 0) return false;
  const State& mine = state(task);
  const uint32_t number = task.call.number();
  if (!mine.current || (number != SYS_poll && number != SYS_ppoll)) return false;
  const recording::Event& event = recording_.events()[mine.current->event];
  const auto then = event.find(DEADHEAT_ATTACH_POLLED, 0);
  auto now = then ? task.tracee.read({task.call.argument(0)}, then->size()) : std::nullopt;
  if (!now || event.head().result <= 0) return false;
  for (size_t at = 0; at + sizeof(pollfd) <= now->size(); at += sizeof(pollfd)) {
    pollfd is, was;
    std::memcpy(&is, now->data() + at, sizeof is);
    std::memcpy(&was, then->data() + at, sizeof was);
    if (is.fd != was.fd || (was.revents & ~is.revents) != 0) return false;
  }
  task.tracee.write({task.call.argument(0)}, *then);
  result = event.head().result;
  return true;
}

void Replayer::left(sources::TracedTask& task) {
  State& mine = state(task);
  // A wait that was changed to wait for one child and did not get it. If that child does not exist,
  // it had already been reaped.
  if (mine.specific != 0) {
    const auto child = std::exchange(mine.specific, 0);
    if (task.last_result != child && !(task.last_result == 0 && task.call.number() == SYS_waitid))
      diverge("process " + std::to_string(child) + " is not there to be waited for",
              task.last_result == -ECHILD ? Divergence::kProven : Divergence::kUncontrolled);
  }
  if (mine.current) {
    note_result(*mine.current, task.last_result);
    finish(mine, *mine.current, task.call.head().end);
  }
  mine.current.reset();
  mine.forced = false;
}

void Replayer::note_result(const OrderPlan::Step& step, int64_t result) {
  constexpr size_t kMostOtherwise = 1024;  // beyond, a divergence may stay unexplained
  if (live_ || step.node == kNoNode || report_.otherwise.size() >= kMostOtherwise) return;
  if (recording_.events()[step.event].head().result != result)
    report_.otherwise.push_back(step.node);
}

void Replayer::forked(sources::TracedTask& parent, sources::TracedTask& child) {
  State& mine = state(parent);
  mine.forked = true;
  if (!live_ && !mine.current && child.process != parent.process) call_stranger(parent, child);
  if (!live_ && mine.current) {
    State& its = state(child);
    its.fork_step = mine.next - 1;
    its.parent_strayed = mine.strayed_before;
  }
  if (mine.current) finish(mine, *mine.current, parent.call.head().begin);
}

void Replayer::ended(sources::TracedTask& task) {
  State& mine = state(task);
  if (mine.current) finish(mine, *mine.current, task.call.head().end);
  mine.current.reset();
  if (task.id() == task.process)
    if (const auto parent = states_.find(task.path.substr(0, task.path.rfind('.')));
        parent != states_.end() && &parent->second != &mine)
      parent->second.ended_children++;
  // Its remaining steps will not happen.
  for (; mine.next < mine.steps->size(); mine.next++)
    if ((*mine.steps)[mine.next].node != kNoNode) plan_.done((*mine.steps)[mine.next].node);
}

// Whether the task is held where the branch wants it, so that others go first.
bool Replayer::is_held_by_branch(const State& state) const {
  if (branch_.order.empty() || !state.current || state.current->node == kNoNode) return false;
  return anchor(state.current->node) >= 0 || !plan_.in_cut(state.current->node);
}

// The place of the task's next stretch of own code among those of the tasks that share its memory:
// they do not overlap, so the event at its end determines it.
uint64_t Replayer::next_in_recording(const State& state) const {
  if (state.next >= state.steps->size()) return ~uint64_t{0};
  return recording_.events()[(*state.steps)[state.next].event].head().begin;
}

int Replayer::choose_turn(sources::Tracer& tracer, const sources::Turns::Free& turn) {
  if (live_) return turn.waiting.front();
  int first = 0;
  uint64_t first_place = 0;
  for (const int id : turn.waiting) {
    const uint64_t place = next_in_recording(state(*tracer.find(id)));
    if (first != 0 && place >= first_place) continue;
    first = id;
    first_place = place;
  }
  if (std::exchange(give_turn_anyway_, false)) return first;
  for (const auto& [id, task] : tracer.tasks()) {
    if (task.memory != turn.memory || task.wants_turn || task.ending) continue;
    const State& other = state(task);
    if (task.held && is_held_by_branch(other)) continue;
    if (next_in_recording(other) < first_place) return 0;
  }
  return first;
}

void Replayer::interrupted(sources::TracedTask& task) {
  if (live_ || branch_.order.empty()) return;
  diverge("uncontrolled: shared memory: thread " + std::to_string(task.id()) +
              " makes no calls while others wait",
          Divergence::kUncontrolled);
}

void Replayer::go_live(uint64_t number) {
  live_ = true;
  report_.live_from = number;
}

void Replayer::diverge(std::string why, Divergence divergence) {
  report_.diverged = std::move(why);
  report_.divergence = divergence;
  live_ = true;
}

std::string Replayer::describe(uint32_t node) const {
  return effects::describe_node(model_, recording_, node);
}

const ReplayReport& Replayer::report() {
  if (branch_.order.empty() && report_.diverged.empty()) {
    report_.reached = report_.extra == 0 && report_.skipped == 0 && report_.relaxed == 0;
    if (!report_.reached)
      report_.diverged = std::to_string(report_.extra) + " calls that were not recorded, " +
                         std::to_string(report_.skipped) + " recorded ones not made, " +
                         std::to_string(report_.relaxed) + " orders given up" +
                         (report_.first.empty() ? "" : "; first, " + report_.first);
  } else if (!report_.reached && report_.diverged.empty()) {
    report_.diverged = "the command ended before " + describe(branch_.order[anchors_done_]);
    report_.divergence = strangers_ ? Divergence::kUncontrolled : Divergence::kOtherWay;
  }
  return report_;
}

}  // namespace deadheat::process::replay
