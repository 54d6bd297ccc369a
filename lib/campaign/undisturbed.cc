#include "lib/campaign/undisturbed.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/campaign/left_to_system.h"
#include "lib/live/instrumented.h"

namespace deadheat::campaign {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 100;
constexpr double kLeastTimeout_s = 10, kTimesSlowest = 10;
constexpr double kFirstTimeout_s = 20;  // before anything is known of the program
constexpr double kPartOfTime = 0.1;     // of all the time there is, for one that may hang
constexpr double kPartOfTrial = 0.25;   // the same for a trial
constexpr double kLeastOfTime_s = 1;
constexpr size_t kEnoughHung = 2;  // one that never ends by itself does so every time

void remove(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

class Learner {
 public:
  Learner(const Options& options, Children& children, symbols::Symbolizer& symbolizer,
          const std::function<bool()>& stopped, const std::function<void()>& show)
      : options_(options),
        children_(children),
        symbolizer_(symbolizer),
        stopped_(stopped),
        show_(show) {
    out_.timeout_s = options.timeout_s > 0 ? options.timeout_s : first_timeout_s();
  }

  Result<Undisturbed> learn() {
    if (const Status done = run_as_it_comes(); !done) return done.error();
    if (stopped_()) return std::move(out_);
    if (const Status done = run_serial(); !done) return done.error();
    choose_timeout();
    if (out_.baseline.output_varies())
      out_.problems.emplace_back(
          "what the program prints differs from run to run by itself: it was not compared");
    return std::move(out_);
  }

 private:
  // One that hangs must not use up the time of the trials.
  double first_timeout_s() const {
    const double known_s = kTimesSlowest * options_.took_s;
    const double part_s = options_.time.total_s() * kPartOfTime;
    return std::min(std::max(kFirstTimeout_s, known_s),
                    std::max({kLeastOfTime_s, part_s, 2 * options_.took_s}));
  }

  Status start(const std::optional<TrialRequest>& request, const std::string& folder) {
    const auto child = prepare(options_.target, request, folder, out_.timeout_s);
    if (!child) return child.error();
    return children_.start(++tags_, child.value());
  }

  Status run_as_it_comes() {
    std::map<uint64_t, std::string> folders;
    uint64_t left = options_.undisturbed;
    size_t hung = 0;
    while ((left > 0 || !folders.empty()) && !stopped_()) {
      if (hung >= (options_.never_ended ? 1 : kEnoughHung)) left = 0;
      for (; left > 0 && folders.size() < options_.jobs; --left) {
        const std::string folder = options_.work + "/undisturbed" + std::to_string(left);
        if (const Status begun = start(std::nullopt, folder); !begun) return begun.error();
        folders[tags_] = folder;
      }
      for (const Children::Ended& ended : children_.wait(kPollMs)) {
        out_.baseline.add(observe(ended.result, folders[ended.tag]));
        hung += ended.result.timed_out ? 1 : 0;
        remove(folders[ended.tag]);
        folders.erase(ended.tag);
      }
      show_();
    }
    return Ok{};
  }

  Status run_serial() {
    TrialRequest request;
    request.strategy = "serial";
    request.seed = options_.seed;
    const std::string folder = options_.work + "/serial";
    request.decisions = decisions_path(folder);
    set_limits(request, out_.timeout_s, out_.baseline.slowest_s());
    if (const Status begun = start(request, folder); !begun) return begun.error();
    std::vector<Children::Ended> ended;
    while (ended.empty() && !stopped_()) {
      ended = children_.wait(kPollMs);
      show_();
    }
    if (ended.empty()) return Ok{};
    const TrialResult trial =
        collect(options_.target, request, ended[0].result, folder, "serial", symbolizer_);
    if (!trial.started || trial.seen.runtime_refused) return not_scheduled(folder);
    out_.baseline.add(trial.seen);
    for (const live::RawProcess& process : trial.processes)
      if (!process.notes.empty()) out_.problems.push_back("serial run: " + process.notes.front());
    if (trial.log) out_.length = trial.log->decisions.size();
    LeftToSystem left;
    for (const model::Origin& origin : trial.races.origins) left.add(origin.counters);
    out_.spins = left.spins();
    remove(folder);
    return Ok{};
  }

  Error not_scheduled(const std::string& folder) const {
    const std::string& program = options_.target.program[0];
    if (live::instrumented(live::find_program(program)) != live::Instrumented::kYes)
      return {program + " is not instrumented: nothing can be tried",
              "build it with CC=deadheat-cc CXX=deadheat-c++"};
    const auto errors = read_file(folder + "/err");
    const std::string full = why_full(folder);
    const std::string said(trim(errors ? errors.value().substr(0, 500) : ""));
    return {program + " is instrumented, but the scheduler did not start in it" +
                (said.empty() ? "" : ": " + said),
            full.empty() ? "deadheat verify " + program : full};
  }

  void choose_timeout() {
    if (options_.timeout_s > 0) return;
    const double slowest = out_.baseline.slowest_s();
    // One that never ends by itself need not be waited for ten times as long.
    if (slowest >= out_.timeout_s) return;
    out_.timeout_s =
        std::min(std::max(kLeastTimeout_s, kTimesSlowest * slowest),
                 std::max({kLeastOfTime_s, options_.time.total_s() * kPartOfTrial, 2 * slowest}));
  }

  const Options& options_;
  Children& children_;
  symbols::Symbolizer& symbolizer_;
  const std::function<bool()>& stopped_;
  const std::function<void()>& show_;
  Undisturbed out_;
  uint64_t tags_ = 1ULL << 32;  // apart from those of trials
};

}  // namespace

Result<Undisturbed> learn_undisturbed(const Options& options, Children& children,
                                      symbols::Symbolizer& symbolizer,
                                      const std::function<bool()>& stopped,
                                      const std::function<void()>& show) {
  return Learner(options, children, symbolizer, stopped, show).learn();
}

}  // namespace deadheat::campaign
