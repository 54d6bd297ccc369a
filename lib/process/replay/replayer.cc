#include "lib/process/replay/replayer.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "lib/process/replay/replay_clock.h"
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

// Equal, or names of temporary files that differ in one stretch of letters and digits: those may
// come from a clock.
bool is_same_name(std::string_view recorded, std::string_view now) {
  if (recorded == now) return true;
  if (recorded.size() != now.size() || recorded.find("tmp") == std::string_view::npos) return false;
  const auto first = std::mismatch(recorded.begin(), recorded.end(), now.begin()).first;
  const auto last = std::mismatch(recorded.rbegin(), recorded.rend(), now.rbegin()).first.base();
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return last - first <= 12 && std::all_of(first, last, is_plain);
}

}  // namespace

Replayer::Replayer(const Recording& recording, const Model& model, const Branch& branch,
                   double patience_s)
    : recording_(recording),
      model_(model),
      branch_(branch),
      plan_(recording, model, branch),
      patience_s_(patience_s),
      clock_shift_ns_(real_time_ns() - recording.info().started_ns) {}

Replayer::State& Replayer::state(const TracedTask& task) {
  State& state = states_[task.path];
  if (state.steps == nullptr) {
    static const std::vector<OrderPlan::Step> kNothing;
    const auto* steps = plan_.steps(task.path);
    state.steps = steps != nullptr ? steps : &kNothing;
  }
  return state;
}

bool Replayer::matches(const Event& event, const TracedTask& task) const {
  const deadheat_process_event& head = event.head();
  if (head.kind != DEADHEAT_PROCESS_SYSCALL && head.kind != DEADHEAT_PROCESS_FORK &&
      head.kind != DEADHEAT_PROCESS_EXEC)
    return false;
  if (head.number != task.call.number()) return false;
  const SyscallEntry& entry = syscall_entry(head.number);
  if (is_about_a_descriptor(entry.effect) && head.arguments[0] != task.call.argument(0))
    return false;
  for (uint16_t argument = 0; argument < 4; argument++) {
    if (!(entry.capture & (kPath0 << argument))) continue;
    const auto recorded = event.path(argument);
    const std::string* now = task.call.path(argument);
    if (recorded && now != nullptr && !is_same_name(*recorded, *now)) return false;
  }
  return true;
}

// Finds the recorded call that the task is about to make.
void Replayer::look_up(State& state, const TracedTask& task) {
  state.current.reset();
  state.forced = false;
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
    state.next = at + 1;
    state.current = step;
    report_.matched++;
    return;
  }
  const std::string made = task.call.event();
  note("not recorded", Event(made.data()), task);
  report_.extra++;
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

std::optional<std::pair<int64_t, std::string>> Replayer::answer(TracedTask& task) {
  if (live_) return std::nullopt;
  State& mine = state(task);
  mine.awaited = 0;
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
  if (!mine.current) return std::nullopt;
  const Event& event = recording_.events()[mine.current->event];
  if (syscall_entry(event.head().number).effect != Effect::kInput || event.head().result < 0)
    return std::nullopt;
  return recorded_input(event, clock_shift_ns_);
}

int Replayer::anchor(uint32_t node) const {
  const auto found = std::find(branch_.order.begin(), branch_.order.end(), node);
  return found == branch_.order.end() ? -1 : static_cast<int>(found - branch_.order.begin());
}

bool Replayer::may_go_now(State& state) {
  if (!state.current || state.current->node == kNoNode || state.forced) return true;
  const uint32_t node = state.current->node;
  const int place = anchor(node);
  if (place >= 0)
    return static_cast<size_t>(place) == anchors_done_ && plan_.waits_for(node) == kNoNode;
  if (!branch_.order.empty() && !plan_.in_cut(node)) return false;  // the end of the cut
  return plan_.waits_for(node) == kNoNode;
}

// The recording has a signal right after this call: one that interrupted it must be there before
// it.
bool Replayer::signal_is_due(State& state, TracedTask& task) {
  if (state.next >= state.steps->size()) return true;
  const deadheat_process_event& after =
      recording_.events()[(*state.steps)[state.next].event].head();
  if (after.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || after.arguments[2] == 0 || state.forced)
    return true;
  return has_signal(task, static_cast<int>(after.number));
}

bool Replayer::has_signal(const TracedTask& task, int signal) const {
  const bool kept = std::any_of(task.deferred.begin(), task.deferred.end(),
                                [&](const siginfo_t& one) { return one.si_signo == signal; });
  return kept || task.tracee.pending(signal);
}

bool Replayer::may_go(TracedTask& task) {
  if (live_) return true;
  State& mine = state(task);
  if (task.ending && !mine.looked_for_end) {
    mine.awaited = 0;
    look_up_end(mine);
  }
  if (mine.awaited != 0) {
    if (!mine.forced) return has_signal(task, mine.awaited);
    mine.awaited = 0;  // it does not come: the call goes without it
    mine.next++;
    look_up(mine, task);
  }
  if (!branch_.order.empty() && tracer_ != nullptr && tracer_->seconds() > patience_s_) {
    diverge("the calls did not come within " + std::to_string(static_cast<int>(patience_s_)) + " s",
            false);
    return true;
  }
  return may_go_now(mine) && (task.ending || signal_is_due(mine, task));
}

void Replayer::going(Tracer& tracer, TracedTask& task) {
  tracer_ = &tracer;
  if (live_) return;
  State& mine = state(task);
  task.postpone = mine.awaited != 0 && !task.ending;
  if (!mine.current || task.ending) return;
  const Event& event = recording_.events()[mine.current->event];
  if (event.head().kind == DEADHEAT_PROCESS_FORK)
    tracer.set_next_pid(static_cast<int>(event.head().result));
  const bool wildcard = branch_.change == BranchChange::kOtherWakeup &&
                        branch_.specific_task != ~0u && mine.current->node != kNoNode &&
                        anchor(mine.current->node) >= 0;
  if (!wildcard || (event.head().number != SYS_wait4 && event.head().number != SYS_waitid)) return;
  const int32_t child = model_.tasks[branch_.specific_task].process;
  mine.specific = child;
  const bool by_id = event.head().number == SYS_waitid;
  if (by_id) task.tracee.set_argument(0, P_PID);
  task.tracee.set_argument(by_id ? 1 : 0, static_cast<uint64_t>(child));
}

void Replayer::finish(const OrderPlan::Step& step, uint64_t number) {
  if (step.node == kNoNode || plan_.is_done(step.node)) return;
  plan_.done(step.node);
  if (anchor(step.node) < 0) return;
  if (++anchors_done_ == branch_.order.size()) {
    report_.reached = report_.diverged.empty();
    go_live(number);
  }
}

void Replayer::left(TracedTask& task) {
  State& mine = state(task);
  // A wait that was told which child to take, and did not get it: that child had been waited for
  // already.
  if (mine.specific != 0) {
    const auto child = std::exchange(mine.specific, 0);
    if (task.last_result != child && !(task.last_result == 0 && task.call.number() == SYS_waitid))
      diverge("process " + std::to_string(child) + " is not there to be waited for", true);
  }
  if (mine.current) finish(*mine.current, task.call.head().end);
  mine.current.reset();
}

void Replayer::forked(TracedTask& parent, TracedTask& /*child*/) {
  State& mine = state(parent);
  if (mine.current) finish(*mine.current, parent.call.head().begin);
}

void Replayer::ended(TracedTask& task) {
  State& mine = state(task);
  if (mine.current) finish(*mine.current, task.call.head().end);
  mine.current.reset();
  // What it did not do will not come.
  for (; mine.next < mine.steps->size(); mine.next++)
    if ((*mine.steps)[mine.next].node != kNoNode) plan_.done((*mine.steps)[mine.next].node);
}

bool Replayer::deliver(TracedTask& task, const siginfo_t& signal, bool at_call) {
  if (live_) return at_call;
  State& mine = state(task);
  for (size_t at = mine.next; at < mine.steps->size(); at++) {
    const deadheat_process_event& head = recording_.events()[(*mine.steps)[at].event].head();
    if (head.kind == DEADHEAT_PROCESS_SIGNAL_SENT) continue;
    return head.kind == DEADHEAT_PROCESS_SIGNAL_DELIVERED &&
           static_cast<int>(head.number) == signal.si_signo && at_call;
  }
  return at_call;
}

void Replayer::delivered(TracedTask& task, int signal) {
  State& mine = state(task);
  const size_t end = std::min(mine.steps->size(), mine.next + kLookAhead);
  for (size_t at = mine.next; at < end; at++) {
    const OrderPlan::Step& step = (*mine.steps)[at];
    const deadheat_process_event& head = recording_.events()[step.event].head();
    if (head.kind == DEADHEAT_PROCESS_SYSCALL) return;
    if (head.kind != DEADHEAT_PROCESS_SIGNAL_DELIVERED || static_cast<int>(head.number) != signal)
      continue;
    mine.next = at + 1;
    finish(step, head.end);
    return;
  }
}

void Replayer::go_live(uint64_t number) {
  live_ = true;
  report_.live_from = number;
}

void Replayer::diverge(std::string why, bool infeasible) {
  report_.diverged = std::move(why);
  report_.infeasible = infeasible;
  live_ = true;
}

std::string Replayer::describe(uint32_t node) const {
  return describe_node(model_, recording_, node);
}

bool Replayer::stuck(Tracer& tracer) {
  if (live_) return false;
  // Who is held, and why; the earliest of the cheapest kind goes.
  State* relaxed = nullptr;
  State* beyond = nullptr;
  std::string anchors;
  for (auto& [id, task] : tracer.tasks()) {
    if (!task.held) continue;
    State& mine = state(task);
    if (!mine.current || mine.current->node == kNoNode) {
      relaxed = &mine;  // waits for a signal that does not come
      continue;
    }
    const uint32_t node = mine.current->node;
    State*& slot = plan_.in_cut(node) || branch_.order.empty() ? relaxed : beyond;
    if (anchor(node) >= 0)
      anchors = describe(node);
    else if (slot == nullptr || !slot->current || slot->current->node > node)
      slot = &mine;
  }
  State* const go = relaxed != nullptr ? relaxed : beyond;
  if (go != nullptr) {
    go->forced = true;
    report_.relaxed++;
    return true;
  }
  if (branch_.order.empty() || anchors_done_ >= branch_.order.size()) return false;
  const uint32_t first = branch_.order[anchors_done_];
  diverge(describe(first) + " does not come before " + anchors + ": it waits for what follows that",
          true);
  return true;
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
    report_.infeasible = true;
  }
  return report_;
}

}  // namespace deadheat::process
