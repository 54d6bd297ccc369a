// Runs a recorded command again under control: every task is held at its next call until the plan
// releases it, in the order of the recording or of a branch of it; then everything goes live
// (RacePro, section 6.2).
//
// A task of the new execution corresponds to the recorded task with the same path (child numbers
// from the root). Its calls are matched one by one with the recorded ones; a call that is not the
// next one is searched a little further on, and skipped calls count as done. Calls that are not
// found run freely and are counted. When no task can move, the order is relaxed at the lowest cost:
// first a wait for something that will not come, then tasks at the end of the cut, and last the
// anchors themselves: then the branch has diverged.
//
// The first anchor waits until the other anchors' tasks have reached theirs. A task that has
// executed its anchor is blocked until all anchors have executed: the calls are adjacent, because
// otherwise the consequences of the first could divert the other task before it reaches its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/process/replay/order_plan.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/replay/same_names.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::replay {

// Why a branch did not happen.
enum class Divergence : uint8_t {
  kUncontrolled,  // says nothing about the order
  kProven,    // the order contradicts the program: a cycle of waits, its own signal mask, a child
              // that does not exist
  kOtherWay,  // an anchor's task, or the command, ended without the call, and no process existed
              // that the recording lacks; proven if its view of a tighter race diverted it
              // (races/tighter_race.h)
};

struct ReplayReport {
  bool reached = false;  // the anchors happened in the branch's order; or the recording was
                         // followed to its end
  std::string diverged;  // where and why, if not
  Divergence divergence = Divergence::kUncontrolled;
  std::vector<uint32_t> otherwise;  // nodes whose calls returned something else than recorded
  uint64_t matched = 0, extra = 0, skipped = 0, relaxed = 0;
  std::string first;       // the first call that was extra or skipped, and its task
  uint64_t live_from = 0;  // the number in the recording at which it went live; 0: never
};

class Replayer : public sources::Controller {
 public:
  // `patience_s`: how long the anchors may take.
  Replayer(const recording::Recording& recording, const effects::Model& model,
           const races::Branch& branch, double patience_s);

  bool may_go(sources::TracedTask& task) override;
  std::optional<std::pair<int64_t, std::string>> answer(sources::TracedTask& task) override;
  void going(sources::Tracer& tracer, sources::TracedTask& task) override;
  bool may_run_on(sources::TracedTask& task) override;
  bool change_result(sources::TracedTask& task, int64_t& result) override;
  void left(sources::TracedTask& task) override;
  void forked(sources::TracedTask& parent, sources::TracedTask& child) override;
  void ended(sources::TracedTask& task) override;
  bool deliver(sources::TracedTask& task, const siginfo_t& signal, bool at_call) override;
  bool send_again(sources::TracedTask& task, int signal) override;
  void delivered(sources::TracedTask& task, int signal) override;
  bool keeps_turn() override { return live_; }
  int choose_turn(sources::Tracer& tracer, const sources::Turns::Free& turn) override;
  void interrupted(sources::TracedTask& task) override;
  bool may_bring_news(sources::TracedTask& task) override;
  const sources::WallClock* clock() override { return clock_.told() ? &clock_ : nullptr; }
  bool stuck(sources::Tracer& tracer) override;

  bool live() const { return live_; }  // no task is held any more
  const ReplayReport& report();

 private:
  struct State {
    const std::vector<OrderPlan::Step>* steps = nullptr;
    size_t next = 0;
    std::optional<OrderPlan::Step> current;
    bool forced = false;          // proceeds whatever the plan says
    bool forked = false;          // its current call has created the child
    bool anchored = false;        // has executed its anchor's call
    uint32_t strayed = 0;         // calls since the last recorded one
    uint32_t strayed_before = 0;  // the same before that one
    bool looked_for_end = false;
    int awaited = 0;       // a signal that arrived before the call at which the task is held
    int32_t specific = 0;  // the child that its wait was changed to
    uint32_t ended_children = 0, told_of = 0;  // and the number of SIGCHLDs delivered
    // For a process, until its exec: which step of its parent created it, and how far the parent
    // had strayed then.
    std::optional<size_t> fork_step;
    uint32_t parent_strayed = 0;
  };
  State& state(const sources::TracedTask& task);
  bool matches(const recording::Event& event, const sources::TracedTask& task) const;
  bool is_quiet(const OrderPlan::Step& step) const;
  size_t end_of_look_ahead(const State& state, size_t most) const;
  bool is_of_no_account(const State& state, const sources::TracedTask& task) const;
  void learn_names(const recording::Event& event, const sources::TracedTask& task);
  void look_up(State& state, const sources::TracedTask& task);
  void look_up_end(State& state);
  void disown(sources::TracedTask& task);
  void call_stranger(sources::TracedTask& parent, sources::TracedTask& child);
  bool can_be_undone(const State& state, size_t from) const;
  void undo(State& state, size_t from);
  void note(const char* what, const recording::Event& event, const sources::TracedTask& task);
  void finish(State& state, const OrderPlan::Step& step, uint64_t number);
  void note_result(const OrderPlan::Step& step, int64_t result);
  bool is_to_be_met_early(const State& state) const;
  bool stands_for_early_signal(const State& state) const;
  bool is_to_end_first(const State& state) const;
  int signal_of_branch() const;
  bool is_held_by_branch(const State& state) const;
  uint64_t next_in_recording(const State& state) const;
  int anchor(uint32_t node) const;  // its index in the branch's order; -1: none
  bool may_go_now(State& state);
  bool stands_after_anchor(const State& state) const;
  bool parent_heard_of_others(const State& mine, const sources::TracedTask& task) const;
  // Pending; and, if `open`, not blocked.
  bool has_signal(const sources::TracedTask& task, int signal, bool open) const;
  bool comes_next(const State& state, int signal) const;
  int signal_follows(const State& state) const;
  bool can_be_broken_off(const State& state, const sources::TracedTask& task, int64_t result) const;
  bool signal_is_due(const State& state, const sources::TracedTask& task) const;
  bool tell_again(sources::TracedTask& task);
  void go_live(uint64_t number);
  void diverge(std::string why, Divergence divergence);
  // replayer_stuck.cc
  enum class Need : uint8_t { kNone, kAwaited, kAsksAgain };
  bool has_more_to_do(const State& state) const;
  Need need_of(const sources::TracedTask& task);
  bool wake_sleeper(sources::Tracer& tracer, Need need);
  void give_up(sources::Tracer& tracer, const std::string& anchors);
  std::string describe(uint32_t node) const;

  const recording::Recording& recording_;
  const effects::Model& model_;
  const races::Branch& branch_;
  OrderPlan plan_;
  double patience_s_;
  std::map<std::string, State> states_;
  SameNames names_;
  size_t anchors_done_ = 0;
  bool not_all_come_ = false;  // at their anchors: the first proceeds without them
  uint32_t woken_ = 0;         // sleepers
  bool strangers_ = false;     // processes that are not in the recording
  bool live_ = false;
  ReplayClock clock_;
  bool give_turn_anyway_ = false;
  sources::Tracer* tracer_ = nullptr;
  ReplayReport report_;
};

}  // namespace deadheat::process::replay
