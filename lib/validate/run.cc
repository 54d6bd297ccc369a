// Executions of a program, one after the other, each with a few jobs.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/confirm/checker.h"
#include "lib/confirm/consequence.h"
#include "lib/confirm/engine.h"
#include "lib/confirm/runner.h"
#include "lib/validate/campaign.h"

namespace deadheat::validate {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookAgain = std::chrono::milliseconds(100);
constexpr double kLeastTimeout_s = 20, kTimesSlowest = 10;

std::string sites_path(const Options& options) { return options.work + "/sites"; }

class Run : public confirm::Execution {
 public:
  Run(std::unique_ptr<confirm::ProgramExecution> its_program, std::vector<Campaign::Job> its_jobs,
      const Campaign& campaign, Listener& listener)
      : program(std::move(its_program)),
        jobs(std::move(its_jobs)),
        campaign_(campaign),
        listener_(listener) {}

  int done_fd() const override { return program->done_fd(); }
  void kill() override { program->kill(); }
  bool ended() override {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ >= kLookAgain) {
      listener_.for_each_page([&](Page& page) { campaign_.look_again(page); });
      looked_ = now;
    }
    return program->ended();
  }

  const std::unique_ptr<confirm::ProgramExecution> program;
  const std::vector<Campaign::Job> jobs;

 private:
  const Campaign& campaign_;
  Listener& listener_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

// One execution at a time: what the listener passes to the program's processes is for that one.
class Runner : public confirm::Confirmer {
 public:
  Runner(const Options& options, Campaign& campaign, Listener& listener)
      : options_(options), campaign_(campaign), listener_(listener) {
    if (options.runner == nullptr) own_ = std::make_unique<confirm::LocalRunner>();
  }

  Result<std::unique_ptr<confirm::Execution>> start(confirm::Stage stage,
                                                    const confirm::Slot&) override {
    const bool wanted = stage == confirm::Stage::kUndisturbed ? undisturbed_ < options_.undisturbed
                        : stage == confirm::Stage::kTrials    ? wants_more()
                                                              : false;
    if (running_ || !wanted || !problem_.empty()) return std::unique_ptr<confirm::Execution>();
    if (stage == confirm::Stage::kTrials) {
      const std::string name = unused_name(trials_++);
      return execute(campaign_.next_jobs(options_.jobs, name));
    }
    ++undisturbed_;
    return execute({});
  }

  Status finish(confirm::Stage, confirm::Execution& execution, bool cut_off) override {
    running_ = false;
    const auto& run = static_cast<const Run&>(execution);
    // A user who interrupts may know that it hangs; time alone says nothing about a program.
    const bool misbehaved = cut_off && !run.jobs.empty() && options_.ask && options_.stopped &&
                            options_.stopped() && options_.ask();
    if (!cut_off || misbehaved)
      settle(run.jobs, run.program->result(), run.program->folder(), misbehaved);
    return Ok{};
  }

  Status learn(confirm::Stage stage) override {
    if (stage != confirm::Stage::kUndisturbed || options_.undisturbed == 0 || pages_ != 0)
      return Ok{};
    const Error none{"the program ran, and its runtime handed over no page",
                     "it was built with deadheat-cc --candidates, but is it the one that runs?"};
    if (!options_.only_open) return none;
    problem_ = "validation was left out: " + none.message;  // the other confirmer goes on
    return Ok{};
  }

  void describe(confirm::Progress& progress) const override {
    if (options_.only_open) {  // the other confirmer counts the candidates
      progress.trials += trials_;
      return;
    }
    Outcome so_far;
    campaign_.fill(so_far);
    const confirm::Stage stage = progress.stage;
    progress = so_far.progress;
    progress.stage = stage;
  }

  Outcome outcome(bool stopped, bool out_of_time) {
    campaign_.say_last_words();
    Outcome outcome;
    campaign_.fill(outcome);
    outcome.stopped = stopped;
    outcome.out_of_time = out_of_time;
    if (!problem_.empty()) outcome.problems.push_back(problem_);
    if (baseline_.output_varies())
      outcome.problems.emplace_back(
          "what the program prints differs from run to run by itself: it was not compared");
    return outcome;
  }

 private:
  bool wants_more() const {
    return !campaign_.decided() && (options_.most_runs == 0 || trials_ < options_.most_runs);
  }

  // Execution names are permanent: a resumed campaign uses new ones.
  static std::string unused_name(uint64_t i) {
    return "run " + std::to_string(static_cast<uint64_t>(::getpid())) + "." + std::to_string(i);
  }

  double timeout_s() const {
    if (options_.timeout_s > 0) return std::min(options_.timeout_s, options_.time.left_s());
    const double waits_s = static_cast<double>(options_.taus.most_us) * DHV_JOBS / 1e6;
    const double guess_s = std::max(kLeastTimeout_s, kTimesSlowest * baseline_.slowest_s());
    return std::min(guess_s + waits_s, options_.time.left_s());
  }

  Result<std::unique_ptr<confirm::Execution>> execute(std::vector<Campaign::Job> jobs) {
    const std::string folder = options_.work + "/run";
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    listener_.set(campaign_.orders_for(jobs));
    confirm::ChildRequest request;
    request.command = options_.target.program;
    request.directory = options_.target.directory;
    request.input = options_.target.input;
    request.folder = folder;
    request.timeout_s = timeout_s();
    std::vector<std::string> settings = {"validate_socket=" + listener_.path()};
    if (!campaign_.sites().empty()) settings.push_back("validate_sites=" + sites_path(options_));
    request.environment = options_.target.environment("validate", settings);
    confirm::Runner& runner = options_.runner != nullptr ? *options_.runner : *own_;
    auto program = runner.start(request);
    if (!program) return program.error();
    running_ = true;
    return std::unique_ptr<confirm::Execution>(
        std::make_unique<Run>(std::move(program).value(), std::move(jobs), campaign_, listener_));
  }

  void settle(const std::vector<Campaign::Job>& jobs, const confirm::ChildResult& child,
              const std::string& folder, bool misbehaved) {
    const auto pages = listener_.take(campaign_.refused);
    pages_ += pages.size();
    for (const auto& page : pages) {
      campaign_.learn(*page);
      campaign_.count(page->counters());
    }
    const confirm::Observation seen = confirm::observe(child, folder);
    if (jobs.empty()) {
      baseline_.add(seen);
      return;
    }
    const std::vector<Answer> answers = strongest(pages, jobs.size());
    // Only the user's time limit defines a hang.
    model::Consequence consequence;
    if (misbehaved) {
      consequence = {model::ConsequenceKind::kHang, "the user interrupted it and said so"};
    } else if (!child.timed_out || options_.timeout_s > 0) {
      consequence = baseline_.judge(seen);
    }
    if (consequence.kind == model::ConsequenceKind::kNone && !options_.checker.empty())
      if (auto said =
              confirm::run_checker(options_.checker, folder, child, options_.target.directory))
        consequence = *said;
    const size_t cause = cause_of(answers);
    for (size_t i = 0; i < jobs.size(); ++i)
      campaign_.take(jobs[i], &answers[i], i == cause ? consequence : model::Consequence{});
    if (consequence.kind == model::ConsequenceKind::kNone || cause != answers.size()) return;
    for (size_t i = 0; i < jobs.size(); ++i)
      if (may_be_cause(answers[i])) campaign_.suspect(jobs[i]);
  }

  static bool may_be_cause(const Answer& answer) {
    return answer.outcome >= DHV_OUTCOME_RACE_OBSERVED || (answer.seen & DHV_SEEN_STEERED) != 0;
  }

  // Of all processes of the execution.
  static std::vector<Answer> strongest(const std::vector<std::unique_ptr<Page>>& pages,
                                       size_t jobs) {
    std::vector<Answer> answers(jobs);
    for (const auto& page : pages)
      for (size_t slot = 0; slot < jobs; ++slot) {
        Answer one;
        if (!page->answer(slot, serial_of(slot), one)) continue;
        const uint32_t seen = answers[slot].seen | one.seen;
        if (one.outcome > answers[slot].outcome) answers[slot] = one;
        answers[slot].seen = seen;
      }
    return answers;
  }

  // The one job that raced, otherwise the one that was steered; with two the cause is unknown.
  static size_t cause_of(const std::vector<Answer>& answers) {
    for (const auto wanted :
         {+[](const Answer& a) { return a.outcome >= DHV_OUTCOME_RACE_OBSERVED; },
          +[](const Answer& a) { return (a.seen & DHV_SEEN_STEERED) != 0; }}) {
      if (std::count_if(answers.begin(), answers.end(), wanted) > 1) return answers.size();
      const auto one = std::find_if(answers.begin(), answers.end(), wanted);
      if (one != answers.end()) return static_cast<size_t>(one - answers.begin());
    }
    return answers.size();
  }

  const Options& options_;
  Campaign& campaign_;
  Listener& listener_;
  std::unique_ptr<confirm::LocalRunner> own_;
  confirm::Baseline baseline_;
  uint64_t undisturbed_ = 0, trials_ = 0, pages_ = 0;
  bool running_ = false;
  std::string problem_;  // why it wants no more
};

// The file that the runtime of a program built for detection reads before main.
Status keep_sites(const Options& options, const Campaign& campaign) {
  return campaign.sites().empty() ? Status(Ok{})
                                  : write_file(sites_path(options), campaign.sites());
}

class BesideRun : public Beside {
 public:
  BesideRun(Options options, std::unique_ptr<Listener> listener)
      : options_(std::move(options)), listener_(std::move(listener)) {}

  Status begin(model::FindingsFile& file) {
    auto campaign = Campaign::begin(options_, file);
    if (!campaign) return campaign.error();
    campaign_ = std::make_unique<Campaign>(std::move(*campaign));
    if (const Status kept = keep_sites(options_, *campaign_); !kept) return kept;
    runner_ = std::make_unique<Runner>(options_, *campaign_, *listener_);
    return Ok{};
  }
  confirm::Confirmer& confirmer() override { return *runner_; }
  Outcome end() override { return runner_->outcome(false, false); }

 private:
  const Options options_;
  const std::unique_ptr<Listener> listener_;
  std::unique_ptr<Campaign> campaign_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace

Result<std::unique_ptr<Beside>> Beside::create(Options options, model::FindingsFile& file) {
  options.only_open = true;
  auto listener = Listener::create(options.work);
  if (!listener) return listener.error();
  auto made = std::make_unique<BesideRun>(std::move(options), std::move(listener).value());
  if (const Status begun = made->begin(file); !begun) return begun.error();
  return std::unique_ptr<Beside>(std::move(made));
}

confirm::EngineOptions engine_options(const Options& options, std::function<bool()> stopped) {
  confirm::EngineOptions how;
  how.time = options.time;
  how.stopped = std::move(stopped);
  how.slots = 1;
  how.progress = options.progress;
  return how;
}

Result<Outcome> run(const Options& options, model::FindingsFile& file) {
  auto campaign = Campaign::begin(options, file);
  if (!campaign) return campaign.error();
  auto listener = Listener::create(options.work);
  if (!listener) return listener.error();
  if (const Status kept = keep_sites(options, *campaign); !kept) return kept.error();
  Runner runner(options, *campaign, *listener.value());
  confirm::Engine engine(engine_options(options, options.stopped));
  if (const Status done = engine.run({&runner}); !done) return done.error();
  return runner.outcome(engine.stopped(), engine.out_of_time());
}

}  // namespace deadheat::validate
