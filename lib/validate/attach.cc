// A running program: jobs come and go in its page while it works.
#include <signal.h>

#include <chrono>

#include "lib/confirm/engine.h"
#include "lib/validate/campaign.h"

namespace deadheat::validate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDwell = std::chrono::milliseconds(2000);  // for a job without an answer
constexpr auto kLookAgainAtPage = std::chrono::milliseconds(100);
// A job outlives its round only if we are killed; steering and the bound may make a round longer.
constexpr uint32_t kLeaseMs = 10'000;
constexpr auto kGrace = std::chrono::milliseconds(200);  // a weak answer may become stronger

// A round: the jobs stay in the page until each has a final answer, or a weaker one for a while, or
// the time for this round is over.
class Round : public confirm::Execution {
 public:
  Round(const Campaign& campaign, Page& page, std::vector<Campaign::Job> its_jobs,
        std::vector<uint32_t> serials)
      : jobs(std::move(its_jobs)),
        answers(jobs.size()),
        campaign_(campaign),
        page_(page),
        serials_(std::move(serials)) {}

  int done_fd() const override { return -1; }
  void kill() override { over_ = true; }
  bool ended() override {
    auto now = Clock::now();
    if (now - looked_ > kLookAgainAtPage) {
      campaign_.look_again(page_);
      looked_ = now;
    }
    bool all_final = true, all_some = true;
    for (size_t slot = 0; slot < serials_.size(); ++slot) {
      const uint32_t before = answers[slot].outcome;
      Answer answer;
      if (page_.answer(slot, serials_[slot], answer)) answers[slot] = answer;
      if (answers[slot].outcome != before) changed_ = Clock::now();
      all_final &= answers[slot].outcome >= DHV_OUTCOME_NO_RACE;
      all_some &= answers[slot].outcome > DHV_OUTCOME_EXPIRED;
    }
    now = Clock::now();
    return over_ || all_final || (all_some && now - changed_ > kGrace) || now - begun_ > kDwell;
  }

  const std::vector<Campaign::Job> jobs;
  std::vector<Answer> answers;

 private:
  const Campaign& campaign_;
  Page& page_;
  const std::vector<uint32_t> serials_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point changed_ = begun_, looked_ = begun_;
  bool over_ = false;
};

class Attached : public confirm::Confirmer {
 public:
  Attached(const Options& options, Campaign& campaign, Page& page, pid_t process)
      : options_(options), campaign_(campaign), page_(page), process_(process) {
    page_.set_budget(options_.budget_ppm, options_.standstill_us);
  }
  ~Attached() override { detach(); }

  bool gone() const { return page_.ended() || ::kill(process_, 0) != 0; }

  Result<std::unique_ptr<confirm::Execution>> start(confirm::Stage stage,
                                                    const confirm::Slot&) override {
    if (stage != confirm::Stage::kTrials || running_ || campaign_.decided() ||
        (options_.most_runs != 0 && rounds_ >= options_.most_runs))
      return std::unique_ptr<confirm::Execution>();
    running_ = true;
    campaign_.learn(page_);
    std::vector<Campaign::Job> jobs = campaign_.next_jobs(
        options_.jobs, std::to_string(process_) + "." + std::to_string(::getpid()) + "." +
                           std::to_string(rounds_++));
    orders_ = campaign_.orders_for(jobs);
    page_.set_switches(orders_.switches);
    std::vector<uint32_t> serials(jobs.size());
    for (size_t slot = 0; slot < jobs.size(); ++slot) {
      serials[slot] = ++serial_;
      orders_.wishes[slot].lease_ms = kLeaseMs;
      page_.place(slot, serials[slot], orders_.wishes[slot]);
      page_.add_state(orders_.sites[slot].first, DHV_STATE_JOB);
      page_.add_state(orders_.sites[slot].second, DHV_STATE_JOB);
    }
    return std::unique_ptr<confirm::Execution>(
        std::make_unique<Round>(campaign_, page_, std::move(jobs), std::move(serials)));
  }

  // What was answered before it was cut off counts.
  Status finish(confirm::Stage, confirm::Execution& execution, bool) override {
    running_ = false;
    const auto& round = static_cast<const Round&>(execution);
    for (size_t slot = 0; slot < round.jobs.size(); ++slot) {
      page_.clear(slot);
      page_.remove_state(orders_.sites[slot].first, DHV_STATE_JOB);
      page_.remove_state(orders_.sites[slot].second, DHV_STATE_JOB);
    }
    campaign_.learn(page_);
    for (size_t slot = 0; slot < round.jobs.size(); ++slot)
      campaign_.take(round.jobs[slot], &round.answers[slot], {});
    return Ok{};
  }

  void describe(confirm::Progress& progress) const override {
    Outcome so_far;
    campaign_.fill(so_far);
    progress = so_far.progress;
    progress.stage = confirm::Stage::kTrials;
  }

  Outcome outcome() {
    detach();
    campaign_.learn(page_);
    campaign_.count(page_.counters());
    campaign_.say_last_words();
    Outcome outcome;
    campaign_.fill(outcome);
    outcome.stopped = options_.stopped && options_.stopped();
    outcome.out_of_time = options_.time.over();
    if (gone()) outcome.problems.emplace_back("the program ended while it was validated");
    return outcome;
  }

 private:
  // Restores the state that we found, except for inference: nothing of ours stays on.
  void detach() {
    for (size_t slot = 0; slot < DHV_JOBS; ++slot) page_.clear(slot);
    for (uint32_t site = 1; site < page_.sites(); ++site) page_.remove_state(site, DHV_STATE_JOB);
  }

  const Options& options_;
  Campaign& campaign_;
  Page& page_;
  const pid_t process_;
  Orders orders_;  // of the round
  uint64_t rounds_ = 0;
  bool running_ = false;
  uint32_t serial_ = static_cast<uint32_t>(Clock::now().time_since_epoch().count() | 1);
};

}  // namespace

Result<Outcome> attach(const Options& options, pid_t process, model::FindingsFile& file) {
  auto page = Page::of_process(process);
  if (!page) return page.error();
  auto campaign = Campaign::begin(options, file, page.value()->fingerprint());
  if (!campaign) return campaign.error();
  Attached attached(options, *campaign, *page.value(), process);
  confirm::Engine engine(engine_options(
      options, [&] { return attached.gone() || (options.stopped && options.stopped()); }));
  if (const Status done = engine.run(confirm::Stage::kTrials, {&attached}); !done)
    return done.error();
  return attached.outcome();
}

}  // namespace deadheat::validate
