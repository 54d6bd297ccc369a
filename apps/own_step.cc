#include "apps/own_step.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/time_budget.h"
#include "lib/campaign/children.h"

namespace deadheat::apps {
namespace {

constexpr double kAskedGrace_s = 2;   // the program's, to end as it likes
constexpr double kReportGrace_s = 5;  // the verb's, to say what it saw

// Ends a step in three stages: the verb passes the signal on to the program; the program is killed;
// the verb is.
class StepEnd {
 public:
  explicit StepEnd(campaign::Children& children) : children_(children) {}
  bool begun() const { return begun_; }
  void go_on(bool at_once) {
    const auto now = Clock::now();
    if (!begun_) {
      begun_ = true;
      since_ = now;
      children_.tell_all(SIGINT);
    }
    const double waited = std::chrono::duration<double>(now - since_).count();
    if (at_once || waited >= kAskedGrace_s + kReportGrace_s) {
      children_.end_all();
    } else if (waited >= kAskedGrace_s) {
      children_.end_programs();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  campaign::Children& children_;
  Clock::time_point since_;
  bool begun_ = false;
};

}  // namespace

std::string self_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Result<Step> run_step(const std::string& work, const TrialOptions& options,
                      const std::vector<std::string>& words, double limit_s) {
  campaign::Children children;
  campaign::ChildRequest request;
  request.command = words;
  request.directory = options.directory;
  request.input = options.input;
  request.folder = work + "/step";
  request.keep_output = false;  // a program that prints without end is not ended for it
  std::error_code error;
  std::filesystem::create_directory(request.folder, error);
  const TimeBudget limit(std::max(limit_s, 0.001));  // 0 would be none
  if (const Status started = children.start(0, request); !started) return started.error();
  StepEnd end(children);
  std::vector<campaign::Children::Ended> ended;
  while (ended.empty() && children.running() > 0) {
    ended = children.wait(100);
    if (ended.empty() && (StopSignals::stopped() || limit.over()))
      end.go_on(StopSignals::insists());
  }
  Step step;
  step.cut = end.begun();
  step.seconds = limit.used_s();
  if (ended.empty()) return step;
  const campaign::ChildResult& result = ended[0].result;
  if (result.too_much_output)
    return Error{"the program wrote more than " +
                     std::to_string(campaign::Children::kMostOutput >> 20) +
                     " MiB to standard error and was ended",
                 "2>/dev/null in a script around it"};
  step.status = result.signal != 0 ? 128 + result.signal : result.status;
  if (auto errors = read_file(request.folder + "/err")) step.errors = std::move(errors).value();
  return step;
}

void show_own_lines(const std::string& errors) {
  for (const std::string_view line : split(errors, '\n'))
    if (line.starts_with("deadheat: ") || line.starts_with("  hint: "))
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace deadheat::apps
