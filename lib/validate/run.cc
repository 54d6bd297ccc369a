// Executions of a program, one after the other, each with a few jobs.
#include <algorithm>
#include <filesystem>

#include "lib/campaign/consequence.h"
#include "lib/validate/campaign.h"

namespace deadheat::validate {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 20;
constexpr int kLookAgainEvery = 5;  // polls
constexpr double kLeastTimeout_s = 20, kTimesSlowest = 10;

class Runner {
 public:
  Runner(const Options& options, Campaign& campaign, Listener& listener)
      : options_(options), campaign_(campaign), listener_(listener) {}

  Result<Outcome> run() {
    for (uint64_t i = 0; i < options_.undisturbed && !over(); ++i)
      if (const Status done = execute("undisturbed " + std::to_string(i), {}); !done)
        return done.error();
    if (pages_ == 0 && !over())
      return Error{"the program ran, and its runtime handed over no page",
                   "it was built with deadheat-cc --candidates, but is it the one that runs?"};
    for (uint64_t i = 0;
         !over() && !campaign_.decided() && (options_.most_runs == 0 || i < options_.most_runs);
         ++i) {
      const std::string name = unused_name(i);
      if (const Status done = execute(name, campaign_.next_jobs(options_.jobs, name)); !done)
        return done.error();
      show("trials");
    }
    campaign_.say_last_words();
    Outcome outcome;
    campaign_.fill(outcome);
    outcome.stopped = options_.stopped && options_.stopped();
    outcome.out_of_time = options_.time.over();
    if (baseline_.output_varies())
      outcome.problems.emplace_back(
          "what the program prints differs from run to run by itself: it was not compared");
    return outcome;
  }

 private:
  bool over() const { return options_.time.over() || (options_.stopped && options_.stopped()); }

  // Executions are named for good: a campaign that goes on takes names that were not used.
  std::string unused_name(uint64_t i) {
    return "run " + std::to_string(static_cast<uint64_t>(::getpid())) + "." + std::to_string(i);
  }

  double timeout_s() const {
    if (options_.timeout_s > 0) return std::min(options_.timeout_s, options_.time.left_s());
    const double waits_s = static_cast<double>(options_.taus.most_us) * DHV_JOBS / 1e6;
    const double guess_s = std::max(kLeastTimeout_s, kTimesSlowest * baseline_.slowest_s());
    return std::min(guess_s + waits_s, options_.time.left_s());
  }

  Status execute(const std::string& name, const std::vector<Campaign::Job>& jobs) {
    const std::string folder = options_.work + "/run";
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    fs::create_directories(folder, ignored);
    listener_.set(campaign_.orders_for(jobs));
    campaign::ChildRequest request;
    request.command = options_.target.program;
    request.directory = options_.target.directory;
    request.input = options_.target.input;
    request.folder = folder;
    request.timeout_s = timeout_s();
    request.environment =
        options_.target.environment("validate", {"validate_socket=" + listener_.path()});
    if (const Status begun = children_.start(++tag_, request); !begun) return begun.error();
    std::vector<campaign::Children::Ended> ended;
    for (int polls = 1; ended.empty() && !over(); ++polls) {
      ended = children_.wait(kPollMs);
      if (polls % kLookAgainEvery == 0)
        listener_.for_each_page([&](Page& page) { campaign_.look_again(page); });
      show(jobs.empty() ? "undisturbed runs" : "trials");
    }
    if (ended.empty()) {
      children_.end_all();
      return Ok{};
    }
    settle(jobs, ended[0].result, folder);
    (void)name;
    return Ok{};
  }

  void settle(const std::vector<Campaign::Job>& jobs, const campaign::ChildResult& child,
              const std::string& folder) {
    const auto pages = listener_.take(campaign_.refused);
    pages_ += pages.size();
    for (const auto& page : pages) {
      campaign_.learn(*page);
      campaign_.count(page->counters());
    }
    const campaign::Observation seen = campaign::observe(child, folder);
    if (jobs.empty()) {
      baseline_.add(seen);
      return;
    }
    const std::vector<Answer> answers = strongest(pages, jobs.size());
    // A hang is what the user's time limit says, nothing else.
    model::Consequence consequence;
    if (!child.timed_out || options_.timeout_s > 0) consequence = baseline_.judge(seen);
    if (consequence.kind == model::ConsequenceKind::kNone && !options_.checker.empty())
      if (auto said = campaign::run_checker(options_.checker, folder, child)) consequence = *said;
    const size_t cause = cause_of(answers);
    for (size_t i = 0; i < jobs.size(); ++i)
      campaign_.take(jobs[i], &answers[i], i == cause ? consequence : model::Consequence{});
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

  // The one job that raced, or else the one that was steered; with two nobody knows.
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

  void show(const std::string& stage) {
    if (!options_.progress) return;
    Outcome so_far;
    campaign_.fill(so_far);
    so_far.progress.stage = stage;
    options_.progress(so_far.progress);
  }

  const Options& options_;
  Campaign& campaign_;
  Listener& listener_;
  campaign::Children children_;
  campaign::Baseline baseline_;
  uint64_t tag_ = 0, pages_ = 0;
};

}  // namespace

Result<Outcome> run(const Options& options, model::FindingsFile& file) {
  auto campaign = Campaign::begin(options, file);
  if (!campaign) return campaign.error();
  auto listener = Listener::create(options.work);
  if (!listener) return listener.error();
  return Runner(options, *campaign, *listener.value()).run();
}

}  // namespace deadheat::validate
