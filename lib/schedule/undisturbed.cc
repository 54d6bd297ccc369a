#include "lib/schedule/undisturbed.h"

#include <algorithm>

#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/schedule/left_to_system.h"

namespace deadheat::schedule {
namespace {

constexpr double kLeastTimeout_s = 10, kTimesSlowest = 10;
constexpr double kFirstTimeout_s = 20;  // before anything is known about the program
constexpr double kPartOfTime = 0.1;     // of the total time, for a program that may hang
constexpr double kPartOfTrial = 0.25;   // the same, for a trial
constexpr double kLeastOfTime_s = 1;
constexpr size_t kEnoughHung = 2;  // a program that never ends by itself does so every time

}  // namespace

Undisturbed::Undisturbed(const Options& options, confirm::Runner& runner,
                         symbols::Symbolizer& symbolizer)
    : options_(options),
      runner_(runner),
      symbolizer_(symbolizer),
      left_(options.undisturbed),
      timeout_s_(options.timeout_s > 0 ? options.timeout_s : first_timeout_s()) {}

// A hanging program must not use up the time of the trials.
double Undisturbed::first_timeout_s() const {
  const double known_s = kTimesSlowest * options_.took_s;
  const double part_s = options_.time.total_s() * kPartOfTime;
  return std::min(std::max(kFirstTimeout_s, known_s),
                  std::max({kLeastOfTime_s, part_s, 2 * options_.took_s}));
}

Result<std::unique_ptr<confirm::Execution>> Undisturbed::run(
    const std::optional<TrialRequest>& request, const std::string& name) {
  const std::string folder = options_.work + "/" + name;
  const auto child = prepare(options_.target, request, folder, timeout_s_);
  if (!child) return child.error();
  auto started = runner_.start(child.value());
  if (!started) return started.error();
  return std::unique_ptr<confirm::Execution>(std::move(*started));
}

Result<std::unique_ptr<confirm::Execution>> Undisturbed::start() {
  if (hung_ >= (options_.never_ended ? 1 : kEnoughHung)) left_ = 0;
  if (left_ == 0) return std::unique_ptr<confirm::Execution>();
  return run(std::nullopt, "undisturbed" + std::to_string(left_--));
}

void Undisturbed::finish(const confirm::ProgramExecution& run) {
  baseline_.add(confirm::observe(run.result(), run.folder()));
  hung_ += run.result().timed_out ? 1 : 0;
}

Result<std::unique_ptr<confirm::Execution>> Undisturbed::start_serial() {
  if (serial_started_) return std::unique_ptr<confirm::Execution>();
  serial_started_ = true;
  serial_.strategy = "serial";
  serial_.seed = options_.seed;
  serial_.decisions = decisions_path(options_.work + "/serial");
  set_limits(serial_, timeout_s_, baseline_.slowest_s());
  return run(serial_, "serial");
}

Status Undisturbed::finish_serial(const confirm::ProgramExecution& run) {
  const TrialResult trial =
      collect(options_.target, serial_, run.result(), run.folder(), "serial", symbolizer_);
  if (!trial.started || trial.seen.runtime_refused) return not_scheduled(run.folder());
  baseline_.add(trial.seen);
  for (const live::RawProcess& process : trial.processes)
    if (!process.notes.empty()) problems_.push_back("serial run: " + process.notes.front());
  if (trial.log) length_ = trial.log->decisions.size();
  LeftToSystem left;
  for (const model::Origin& origin : trial.races.origins) left.add(origin.counters);
  spins_ = left.spins();
  return Ok{};
}

Error Undisturbed::not_scheduled(const std::string& folder) const {
  const std::string& program = options_.target.program[0];
  if (live::instrumented(find_program(program)) != live::Instrumented::kYes)
    return {program + " is not instrumented: nothing can be tried",
            "build it with CC=deadheat-cc CXX=deadheat-c++"};
  const auto errors = read_file(folder + "/err");
  const std::string full = why_full(folder);
  const std::string said(trim(errors ? errors.value().substr(0, 500) : ""));
  return {program + " is instrumented, but the scheduler did not start in it" +
              (said.empty() ? "" : ": " + said),
          full.empty() ? "deadheat verify " + program : full};
}

void Undisturbed::end() {
  if (baseline_.output_varies())
    problems_.emplace_back(
        "what the program prints differs from run to run by itself: it was not compared");
  if (options_.timeout_s > 0) return;
  const double slowest = baseline_.slowest_s();
  // For a program that never ends by itself, ten times its run time would be wasted.
  if (slowest >= timeout_s_) return;
  timeout_s_ =
      std::min(std::max(kLeastTimeout_s, kTimesSlowest * slowest),
               std::max({kLeastOfTime_s, options_.time.total_s() * kPartOfTrial, 2 * slowest}));
}

}  // namespace deadheat::schedule
