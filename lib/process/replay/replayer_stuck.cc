// When no task can go on by itself: which one is let go, and the result if there is none.
//
// A sleep orders nothing: once all other tasks are held or wait, a sleeping one is woken instead of
// waited for, and goes on as if the others had been slow for so long. Tasks that the anchors need
// come first: those with calls before them, or whose parent waits for them and has such calls. A
// task that polls for something that does not come is not woken for ever; the branch is then open.
//
// "Cannot happen" requires a closed circle: every task is held at its anchor or waits for another
// one, and no clock ends any of those waits. The circle must be made of recorded calls: a task that
// strayed, or a process that the recording lacks, may have made the anchor's call unseen.
#include <algorithm>

#include "lib/process/recording/syscall_table.h"
#include "lib/process/replay/replayer.h"

namespace deadheat::process::replay {
namespace {

// Consecutive calls that the recording does not have. Each round of a loop in a shell script makes
// about six, so a script that tries fewer than ten times is seen to give up.
constexpr uint32_t kAsksAgain = 60;
constexpr uint32_t kMostWoken = 500;  // in one run

std::string parent_path(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

sources::TracedTask* find_by_path(sources::Tracer& tracer, const std::string& path) {
  for (auto& [id, task] : tracer.tasks())
    if (task.path == path) return &task;
  return nullptr;
}

bool moves_by_itself(const sources::TracedTask& task) {
  return !task.held && !task.resting && !task.waiting;
}

// In a call that comes back when that child ends; a vfork's when it has executed something.
bool waits_for_child(const sources::TracedTask& task, int child) {
  if (!task.in_call || !moves_by_itself(task)) return false;
  switch (recording::syscall_entry(task.call.number()).effect) {
    case recording::Effect::kFork:
    case recording::Effect::kWaitId:
      return true;
    case recording::Effect::kWait: {
      const auto wanted = static_cast<int32_t>(task.call.argument(0));
      return wanted <= 0 || wanted == child;
    }
    default:
      return false;
  }
}

}  // namespace

bool Replayer::has_more_to_do(const State& state) const {
  return std::any_of(state.steps->begin() + static_cast<std::ptrdiff_t>(state.next),
                     state.steps->end(), [&](const OrderPlan::Step& step) {
                       return step.node != kNoNode &&
                              (plan_.in_cut(step.node) || anchor(step.node) >= 0);
                     });
}

// Whether the anchors need the task's next step. A shell's wait for any child may return without
// this child's end, and then no edge says that it is needed; but the shell waits. A process that
// was not recorded makes no recorded call at all: its parent tells whether it polls again.
Replayer::Need Replayer::need_of(const sources::TracedTask& task) {
  for (const sources::TracedTask* one = &task; one != nullptr;) {
    const State& mine = state(*one);
    if (!mine.steps->empty() && mine.strayed >= kAsksAgain) return Need::kAsksAgain;
    if (has_more_to_do(mine)) return Need::kAwaited;
    const sources::TracedTask* const parent =
        tracer_ == nullptr ? nullptr : find_by_path(*tracer_, parent_path(one->path));
    if (parent == nullptr || !waits_for_child(*parent, one->process)) return Need::kNone;
    one = parent;
  }
  return Need::kNone;
}

// A task that only sleeps is woken when no other task moves (stuck). A task that waits for
// something with a timeout is waited for as long as the anchors need it.
bool Replayer::may_bring_news(sources::TracedTask& task) {
  if (live_ || branch_.order.empty()) return true;
  return need_of(task) == Need::kAwaited && !task.tracee.only_sleeps();
}

// Wakes the one whose next call was recorded first.
bool Replayer::wake_sleeper(sources::Tracer& tracer, Need need) {
  sources::TracedTask* first = nullptr;
  for (auto& [id, task] : tracer.tasks()) {
    if (!moves_by_itself(task) || !task.tracee.only_sleeps() || need_of(task) != need) continue;
    if (first == nullptr || next_in_recording(state(task)) < next_in_recording(state(*first)))
      first = &task;
  }
  return first != nullptr && woken_++ < kMostWoken && tracer.wake(*first);
}

void Replayer::give_up(sources::Tracer& tracer, const std::string& anchors) {
  const uint32_t first = branch_.order[anchors_done_];
  const std::string what = describe(first) + " does not come before " + anchors + ": ";
  // Its task, or the nearest ancestor that has yet to start it.
  const effects::Task* wanted = &model_.tasks[model_.nodes[first].task];
  uint32_t event = model_.nodes[first].event;
  const sources::TracedTask* task = find_by_path(tracer, wanted->path);
  while (task == nullptr && !states_.contains(wanted->path) && wanted->parent != ~0u) {
    const int32_t id = wanted->id;
    wanted = &model_.tasks[wanted->parent];
    task = find_by_path(tracer, wanted->path);
    const auto* const steps = plan_.steps(wanted->path);
    for (const OrderPlan::Step& step : *steps) {
      const deadheat_process_event& head = recording_.events()[step.event].head();
      if (head.kind == DEADHEAT_PROCESS_FORK && head.result == id) event = step.event;
    }
  }
  const State* const its = task == nullptr ? nullptr : &state(*task);
  const auto is_ahead = [&](const OrderPlan::Step& step) { return step.event == event; };
  if (its == nullptr || (!(its->current && is_ahead(*its->current)) &&
                         std::none_of(its->steps->begin() + static_cast<std::ptrdiff_t>(its->next),
                                      its->steps->end(), is_ahead)))
    return diverge(what + "its process went another way",
                   strangers_ ? Divergence::kUncontrolled : Divergence::kOtherWay);
  for (auto& [id, other] : tracer.tasks())
    if (moves_by_itself(other) && other.tracee.waits_for_time())
      return diverge(what + (need_of(other) == Need::kAsksAgain
                                 ? "a task polls for something that follows that"
                                 : "a task waits for a limited time only"),
                     Divergence::kUncontrolled);
  const bool closed = !strangers_ && its->strayed == 0;
  diverge(what + (closed ? "it waits for what follows that" : "its process makes other calls") +
              (task->in_call ? ", in " + recording::syscall_name(task->call.number()) : ""),
          closed ? Divergence::kProven : Divergence::kUncontrolled);
}

bool Replayer::stuck(sources::Tracer& tracer) {
  if (live_) return false;
  if (!tracer.turns().free().empty()) {
    give_turn_anyway_ = true;
    report_.relaxed++;
    return true;
  }
  for (auto& [id, task] : tracer.tasks())
    if ((task.held || task.resting) && tell_again(task)) return true;
  if (!branch_.order.empty() && wake_sleeper(tracer, Need::kAwaited)) return true;
  // Which tasks are held, and why; the earliest of the cheapest kind is released.
  State* relaxed = nullptr;
  State* beyond = nullptr;
  State* after_anchor = nullptr;
  State* its_turn = nullptr;  // an anchor that waits for something that does not come
  std::string anchors;
  for (auto& [id, task] : tracer.tasks()) {
    if (!task.held && !task.resting) continue;
    State& mine = state(task);
    if (stands_for_early_signal(mine) && mine.awaited != 0) {
      anchors = describe(branch_.order[2]);
      continue;
    }
    if (stands_after_anchor(mine)) {
      after_anchor = &mine;
      continue;
    }
    if (!mine.current || mine.current->node == kNoNode) {
      relaxed = &mine;  // waits for a signal that does not come
      break;
    }
    const uint32_t node = mine.current->node;
    State*& slot = plan_.in_cut(node) || branch_.order.empty() ? relaxed : beyond;
    if (anchor(node) >= 0 && may_go_now(mine)) {
      relaxed = &mine;  // its turn, except that its parent must first be notified of others
      break;
    }
    if (anchor(node) >= 0) {
      anchors = describe(node);
      if (static_cast<size_t>(anchor(node)) == anchors_done_) its_turn = &mine;
    } else if (slot == nullptr || slot->current->node > node) {
      slot = &mine;
    }
  }
  if (relaxed == nullptr && anchors_done_ == 0 && !anchors.empty() && !not_all_come_) {
    not_all_come_ = true;
    return true;
  }
  State* go = relaxed;
  for (State* const next : {beyond, after_anchor, its_turn})
    if (go == nullptr) go = next;
  if (go != nullptr) {
    go->forced = true;
    report_.relaxed++;
    if (report_.first.empty() && go->current && go->current->node != kNoNode) {
      const uint32_t other = plan_.waits_for(go->current->node);
      report_.first = describe(go->current->node) + " could not wait for " +
                      (other == kNoNode ? "a signal" : describe(other));
    }
    return true;
  }
  if (branch_.order.empty() || anchors_done_ >= branch_.order.size()) return false;
  if (!wake_sleeper(tracer, Need::kNone)) give_up(tracer, anchors);
  return true;
}

}  // namespace deadheat::process::replay
