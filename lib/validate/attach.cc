// A program that runs already: jobs come and go in its page while it works.
#include <signal.h>

#include <chrono>
#include <thread>

#include "lib/validate/campaign.h"

namespace deadheat::validate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr auto kDwell = std::chrono::milliseconds(2000);  // for a job that nobody answers
constexpr auto kLookAgain = std::chrono::milliseconds(100);
// A job outlives its round only if we are killed; steering and the bound may make a round longer.
constexpr uint32_t kLeaseMs = 10'000;
constexpr auto kGrace = std::chrono::milliseconds(200);  // a weak answer may become stronger

class Attached {
 public:
  Attached(const Options& options, Campaign& campaign, Page& page, pid_t process)
      : options_(options), campaign_(campaign), page_(page), process_(process) {}

  Outcome run() {
    page_.set_budget(options_.budget_ppm, options_.standstill_us);
    for (uint64_t i = 0;
         !over() && !campaign_.decided() && (options_.most_runs == 0 || i < options_.most_runs);
         ++i)
      round(i);
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
  bool gone() const { return page_.ended() || ::kill(process_, 0) != 0; }
  bool over() const {
    return options_.time.over() || (options_.stopped && options_.stopped()) || gone();
  }

  void round(uint64_t number) {
    campaign_.learn(page_);
    const auto jobs = campaign_.next_jobs(
        options_.jobs,
        std::to_string(process_) + "." + std::to_string(::getpid()) + "." + std::to_string(number));
    Orders orders = campaign_.orders_for(jobs);
    page_.set_switches(orders.switches);
    std::vector<uint32_t> serials(jobs.size());
    for (size_t slot = 0; slot < jobs.size(); ++slot) {
      serials[slot] = ++serial_;
      orders.wishes[slot].lease_ms = kLeaseMs;
      page_.place(slot, serials[slot], orders.wishes[slot]);
      page_.add_state(orders.sites[slot].first, DHV_STATE_JOB);
      page_.add_state(orders.sites[slot].second, DHV_STATE_JOB);
    }
    std::vector<Answer> answers(jobs.size());
    await(serials, answers);
    for (size_t slot = 0; slot < jobs.size(); ++slot) {
      page_.clear(slot);
      page_.remove_state(orders.sites[slot].first, DHV_STATE_JOB);
      page_.remove_state(orders.sites[slot].second, DHV_STATE_JOB);
    }
    campaign_.learn(page_);
    for (size_t slot = 0; slot < jobs.size(); ++slot)
      campaign_.take(jobs[slot], &answers[slot], {});
    if (options_.progress) {
      Outcome so_far;
      campaign_.fill(so_far);
      so_far.progress.stage = "attached";
      options_.progress(so_far.progress);
    }
  }

  // Until each has a final answer, or a lesser one for a while, or the time for this round is over.
  void await(const std::vector<uint32_t>& serials, std::vector<Answer>& answers) {
    const auto begun = Clock::now();
    auto changed = begun, looked = begun;
    while (!over()) {
      if (Clock::now() - looked > kLookAgain) {
        campaign_.look_again(page_);
        looked = Clock::now();
      }
      bool all_final = true, all_some = true;
      for (size_t slot = 0; slot < serials.size(); ++slot) {
        const uint32_t before = answers[slot].outcome;
        Answer now;
        if (page_.answer(slot, serials[slot], now)) answers[slot] = now;
        if (answers[slot].outcome != before) changed = Clock::now();
        all_final &= answers[slot].outcome >= DHV_OUTCOME_NO_RACE;
        all_some &= answers[slot].outcome > DHV_OUTCOME_EXPIRED;
      }
      const auto now = Clock::now();
      if (all_final || (all_some && now - changed > kGrace) || now - begun > kDwell) return;
      std::this_thread::sleep_for(kPoll);
    }
  }

  // As we found it, but for inference: nothing of ours stays on.
  void detach() {
    for (size_t slot = 0; slot < DHV_JOBS; ++slot) page_.clear(slot);
    for (uint32_t site = 1; site < page_.sites(); ++site) page_.remove_state(site, DHV_STATE_JOB);
  }

  const Options& options_;
  Campaign& campaign_;
  Page& page_;
  pid_t process_;
  uint32_t serial_ = static_cast<uint32_t>(Clock::now().time_since_epoch().count() | 1);
};

}  // namespace

Result<Outcome> attach(const Options& options, pid_t process, model::FindingsFile& file) {
  auto page = Page::of_process(process);
  if (!page) return page.error();
  auto campaign = Campaign::begin(options, file, page.value()->fingerprint());
  if (!campaign) return campaign.error();
  return Attached(options, *campaign, *page.value(), process).run();
}

}  // namespace deadheat::validate
