#include "lib/confirm/engine.h"

#include <poll.h>

#include <algorithm>

#include "lib/base/processors.h"

namespace deadheat::confirm {
namespace {

constexpr int kLookMs = 100;      // interval at which a stop request and the limits of executions
                                  // are checked
constexpr int kLookBlindMs = 10;  // interval if no descriptor signals the end of an execution
constexpr auto kShowEvery = std::chrono::milliseconds(200);  // counting reads all the evidence
constexpr auto kSaveEvery = std::chrono::seconds(2);

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)), processors_(usable_processors(), options_.slots) {
  slots_.assign(options_.slots > 0 ? options_.slots : processors_.processors().size(), false);
}

double Engine::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

Status Engine::run(const std::vector<Confirmer*>& confirmers) {
  for (const Stage stage : {Stage::kUndisturbed, Stage::kSerial, Stage::kTrials}) {
    if (over()) return Ok{};
    if (const Status done = run(stage, confirmers); !done) return done;
  }
  return Ok{};
}

Status Engine::run(Stage stage, const std::vector<Confirmer*>& confirmers) {
  for (;;) {
    Status going = Ok{};
    if (over())
      cut_off();
    else
      going = fill(stage, confirmers);
    if (going && active_.empty()) break;
    if (going) wait();
    if (going) going = take_ended(stage);
    if (!going) {
      active_.clear();
      slots_.assign(slots_.size(), false);
      return going;
    }
    show(stage, confirmers);
  }
  if (over()) return Ok{};
  for (Confirmer* confirmer : confirmers)
    if (const Status learnt = confirmer->learn(stage); !learnt) return learnt;
  return Ok{};
}

Result<bool> Engine::start_one(Stage stage, const std::vector<Confirmer*>& confirmers) {
  const auto free = std::find(slots_.begin(), slots_.end(), false);
  const auto number = static_cast<size_t>(free - slots_.begin());
  const std::vector<int>& processors = processors_.processors();
  const Slot slot{number, processors[number % processors.size()]};
  for (size_t i = 0; i < confirmers.size(); i++) {
    Confirmer* confirmer = confirmers[(turn_ + i) % confirmers.size()];
    auto started = confirmer->start(stage, slot);
    if (!started) return started.error();
    if (started.value() == nullptr) continue;
    turn_ = (turn_ + i + 1) % confirmers.size();
    slots_[number] = true;
    active_.push_back({confirmer, std::move(started).value(), number});
    return true;
  }
  return false;
}

Status Engine::fill(Stage stage, const std::vector<Confirmer*>& confirmers) {
  while (active_.size() < slots_.size()) {
    const auto started = start_one(stage, confirmers);
    if (!started) return started.error();
    if (!started.value()) break;
  }
  return Ok{};
}

void Engine::cut_off() {
  for (Active& one : active_) {
    if (!one.cut_off) one.execution->kill();
    one.cut_off = true;
  }
}

void Engine::wait() const {
  if (active_.empty()) return;
  std::vector<pollfd> done;
  int patience_ms = kLookMs;
  for (const Active& one : active_) {
    done.push_back({one.execution->done_fd(), POLLIN, 0});
    if (done.back().fd < 0) patience_ms = kLookBlindMs;
  }
  // Wake up exactly when the time is over.
  const double left_ms = 1000 * options_.time.left_s();
  if (left_ms > 0 && left_ms < patience_ms) patience_ms = static_cast<int>(left_ms) + 1;
  ::poll(done.data(), done.size(), patience_ms);
}

Status Engine::take_ended(Stage stage) {
  for (auto one = active_.begin(); one != active_.end();) {
    const bool ended = one->execution->ended();
    if (const Status possible = one->execution->abandoned(); !possible) return possible;
    if (!ended) {
      ++one;
      continue;
    }
    slots_[one->slot] = false;
    if (const Status taken = one->of->finish(stage, *one->execution, one->cut_off); !taken)
      return taken;
    one = active_.erase(one);
  }
  return Ok{};
}

void Engine::show(Stage stage, const std::vector<Confirmer*>& confirmers) {
  const auto now = Clock::now();
  if (options_.progress && now - shown_ >= kShowEvery) {
    Progress progress;
    progress.stage = stage;
    progress.seconds = seconds();
    for (const Confirmer* confirmer : confirmers) confirmer->describe(progress);
    options_.progress(progress);
    shown_ = Clock::now();
  }
  if (!options_.save || now - saved_ < kSaveEvery) return;
  options_.save();
  saved_ = Clock::now();
}

}  // namespace deadheat::confirm
