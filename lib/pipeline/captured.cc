#include "lib/pipeline/captured.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>

#include "lib/base/file.h"
#include "lib/base/time_budget.h"
#include "lib/confirm/children.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::pipeline {
namespace {

constexpr int kChildPollMs = 100;
constexpr double kLeastGrace_s = 0.2, kMostGrace_s = 2;

// Asks the command to end, and kills it if it does not.
class CutOff {
 public:
  CutOff(confirm::Children& children, double limit_s)
      : children_(children), grace_s_(std::clamp(limit_s / 4, kLeastGrace_s, kMostGrace_s)) {}
  bool begun() const { return begun_; }
  void go_on() {
    const auto now = Clock::now();
    if (!begun_) {
      begun_ = true;
      since_ = now;
      children_.tell_all(StopSignals::stopped() ? SIGINT : SIGTERM);
    }
    const double waited_s = std::chrono::duration<double>(now - since_).count();
    if (StopSignals::insists() || waited_s >= grace_s_) children_.end_all();
  }

 private:
  using Clock = std::chrono::steady_clock;
  confirm::Children& children_;
  const double grace_s_;
  Clock::time_point since_;
  bool begun_ = false;
};

}  // namespace

std::string self_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Result<CapturedEnd> run_captured(const Captured& what) {
  confirm::Children children;
  confirm::ChildRequest request;
  request.command = what.command;
  request.environment = what.environment;
  request.directory = what.directory;
  request.input = what.input;
  request.folder = what.work + "/step";
  request.keep_output = false;  // a program that prints without end is not killed for it
  std::error_code error;
  std::filesystem::create_directory(request.folder, error);
  const TimeBudget limit(std::max(what.limit_s, 0.001));  // 0 would mean no limit
  const auto started = children.start(request);
  if (!started) return started.error();
  CutOff end(children, what.limit_s);
  std::optional<confirm::ChildResult> ended;
  while (!ended && children.running() > 0) {
    ended = children.wait(started.value(), kChildPollMs);
    if (what.poll) what.poll();
    if (!ended && (StopSignals::stopped() || limit.over())) end.go_on();
  }
  CapturedEnd out;
  out.cut = end.begun();
  out.seconds = limit.used_s();
  if (!ended) return out;
  const confirm::ChildResult& result = *ended;
  if (result.too_much_output)
    return Error{"the program wrote more than " +
                     std::to_string(confirm::Children::kMostOutput >> 20) +
                     " MiB to standard error and was ended",
                 "2>/dev/null in a script around it"};
  out.status = result.signal != 0 ? 128 + result.signal : result.status;
  if (auto errors = read_file(request.folder + "/err")) out.errors = std::move(errors).value();
  return out;
}

}  // namespace deadheat::pipeline
