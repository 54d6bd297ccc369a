// The engine runs the executions of confirmers, as many at a time as there are slots, until no
// confirmer wants more, the time is over, or the user stops it. Confirmers take turns at the slots.
//
// At the end nothing new starts and running executions are killed. Evidence that a confirmer has
// written by then counts, and the same confirmer continues from there next time.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "lib/base/time_budget.h"
#include "lib/confirm/confirmer.h"
#include "lib/confirm/processor_claims.h"

namespace deadheat::confirm {

struct EngineOptions {
  TimeBudget time{0};                             // for everything; already running
  std::function<bool()> stopped;                  // polled often; may be empty, like the two below
  size_t slots = 0;                               // 0: one per processor
  std::function<void(const Progress&)> progress;  // called a few times a second
  std::function<void()> save;                     // called a few times a minute
};

class Engine {
 public:
  explicit Engine(EngineOptions options);

  // Runs all stages in order; ends early when the time is over or the user stops it.
  Status run(const std::vector<Confirmer*>& confirmers);
  Status run(Stage stage, const std::vector<Confirmer*>& confirmers);

  bool stopped() const { return options_.stopped && options_.stopped(); }
  bool out_of_time() const { return options_.time.over(); }
  bool over() const { return out_of_time() || stopped(); }
  double seconds() const;
  const TimeBudget& time() const { return options_.time; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Active {
    Confirmer* of = nullptr;
    std::unique_ptr<Execution> execution;
    size_t slot = 0;
    bool cut_off = false;
  };
  Status fill(Stage stage, const std::vector<Confirmer*>& confirmers);
  Result<bool> start_one(Stage stage, const std::vector<Confirmer*>& confirmers);
  void cut_off();
  void wait() const;
  Status take_ended(Stage stage);
  void show(Stage stage, const std::vector<Confirmer*>& confirmers);

  const EngineOptions options_;
  const ProcessorClaims processors_;
  std::vector<bool> slots_;  // true: in use
  std::list<Active> active_;
  size_t turn_ = 0;  // index of the confirmer that starts the next execution
  Clock::time_point started_ = Clock::now(), shown_{}, saved_ = Clock::now();
};

}  // namespace deadheat::confirm
