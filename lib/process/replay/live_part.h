// The controller of a branch from start to end: a replayer until it goes live, and from then on
// also a recorder, so that the live part is an ordinary recording (whose own races can be found and
// replayed).
#pragma once

#include <functional>
#include <utility>

#include "lib/process/replay/replayer.h"
#include "lib/process/sources/ptrace/recorder.h"

namespace deadheat::process::replay {

class LivePart : public Replayer {
 public:
  // `on_live` is called once, when no task is held any more.
  LivePart(const recording::Recording& recording, const effects::Model& model,
           const races::Branch& branch, double patience_s, std::function<void()> on_live)
      : Replayer(recording, model, branch, patience_s), on_live_(std::move(on_live)) {}

  bool may_go(sources::TracedTask& task) override {
    return Replayer::may_go(task) && (!look() || recorder_.may_go(task));
  }
  void going(sources::Tracer& tracer, sources::TracedTask& task) override {
    Replayer::going(tracer, task);
    if (look()) recorder_.going(tracer, task);
  }
  void left(sources::TracedTask& task) override {
    Replayer::left(task);
    if (look()) recorder_.left(task);
  }
  void forked(sources::TracedTask& parent, sources::TracedTask& child) override {
    Replayer::forked(parent, child);
    look();
  }
  void ended(sources::TracedTask& task) override {
    Replayer::ended(task);
    if (look()) recorder_.ended(task);
  }
  void delivered(sources::TracedTask& task, int signal) override {
    Replayer::delivered(task, signal);
    look();
  }
  bool stuck(sources::Tracer& tracer) override {
    if (look()) return recorder_.stuck(tracer);
    const bool changed = Replayer::stuck(tracer);
    look();
    return changed;
  }

 private:
  bool look() {
    if (!was_live_ && live()) {
      was_live_ = true;
      if (on_live_) on_live_();
    }
    return was_live_;
  }

  sources::Recorder recorder_;
  std::function<void()> on_live_;
  bool was_live_ = false;
};

}  // namespace deadheat::process::replay
