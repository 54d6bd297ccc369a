#include "lib/hive/agent/site.h"

#include <signal.h>

#include <algorithm>
#include <random>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"
#include "lib/validate/course.h"

namespace deadheat::hive::agent {
namespace {

constexpr auto kGrace = std::chrono::milliseconds(200);  // a weak answer may become stronger
constexpr auto kSoon = std::chrono::seconds(10);  // a crash later than this is no consequence
constexpr size_t kMostProcesses = 256;            // of one program that are looked at

std::string random_name() {
  std::random_device random;
  return hex((uint64_t{random()} << 32) | random()).substr(2);
}

// The hive's name for this installation: random, created once.
std::string instance_name(const std::string& folder, uint64_t fingerprint) {
  const std::string path = folder + "/instance." + hex(fingerprint).substr(2);
  if (const auto known = read_file(path, 256); known && !trim(known.value()).empty())
    return std::string(trim(known.value()));
  const std::string fresh = random_name() + random_name();
  (void)write_file(path, fresh + "\n", 0600);
  return fresh;
}

}  // namespace

Site::Site(std::string program, validate::Built built, std::string instance, const Limits& limits)
    : program_(std::move(program)),
      instance_(std::move(instance)),
      built_(std::move(built)),
      limits_(limits) {
  if (const auto image = symbols::ElfImage::open(program_)) build_id_ = image.value()->build_id();
  serial_ = static_cast<uint32_t>(std::random_device()()) | 1;
}

Result<std::unique_ptr<Site>> Site::open(const std::string& program, const std::string& folder,
                                         const Limits& limits) {
  std::vector<validate::Built> all = validate::read_binaries({program});
  if (all.empty())
    return Error{program + " was not built for validation",
                 "build it with deadheat-cc --candidates findings.json and clang 19"};
  std::string name = instance_name(folder, all[0].list.fingerprint);
  return std::unique_ptr<Site>(new Site(program, std::move(all[0]), std::move(name), limits));
}

// The share of time that validation took since the last question, with what was before it at half
// its weight each time. A process counts as one whatever its threads; what it says is bounded.
void Site::measure() {
  constexpr auto kShortest = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  if (now - measured_ < kShortest) return;
  const auto passed =
      static_cast<uint64_t>(std::chrono::nanoseconds(now - measured_).count()) / 1'000'000 + 1;
  measured_ = now;
  uint64_t most_ppm = 0;  // of the process that pays most: the budget is each one's
  for (Process& process : processes_) {
    const dhv_counters counters = process.page->counters();
    const uint64_t spent_ns = counters.waited_ns + counters.slow_ns;
    if (spent_ns > process.spent_ns)
      most_ppm = std::max(most_ppm, (spent_ns - process.spent_ns) / passed);
    process.spent_ns = spent_ns;
  }
  constexpr uint64_t kAll = 1'000'000;
  spent_ppm_ = static_cast<uint32_t>((spent_ppm_ + std::min(most_ppm, kAll) + 1) / 2);
}

api::Poll Site::poll_request(uint64_t dropped) {
  measure();
  api::Poll poll;
  poll.instance = instance_;
  poll.build_id = build_id_;
  poll.room = limits_.jobs;
  poll.spent_ppm = spent_ppm_;
  poll.budget_ppm = limits_.budget_ppm;
  poll.dropped = dropped;
  for (const Held& held : jobs_) poll.holding.push_back(held.job.id);
  return poll;
}

bool Site::prepare(Held& held) const {
  model::FindingsFile file;
  file.findings.push_back({held.job.candidate, {}});
  const validate::List wanted = validate::make_list(file);
  if (wanted.pairs.size() != 1) return false;
  const validate::Mapping mapping = validate::map_candidates(wanted, built_.list);
  if (mapping.numbers.size() != 1 || mapping.numbers[0] < 0) return false;
  held.number = static_cast<uint32_t>(mapping.numbers[0]);
  const validate::Pair pair = built_.list.pairs[held.number];
  held.sites = {pair.first, pair.second};
  const auto instrumented = [&](uint32_t site) {
    const auto at = built_.fates.find(site);
    return at != built_.fates.end() && at->second.fate == DHV_FATE_INSTRUMENTED;
  };
  return instrumented(pair.first) && instrumented(pair.second);
}

validate::Wish Site::wish_of(const Held& held) const {
  validate::Wish wish;
  wish.candidate = held.number;
  wish.order = held.job.order == model::Order::kAlternate ? DHV_ORDER_ALTERNATE : DHV_ORDER_PRIMARY;
  wish.tau_us = held.tau_us;
  wish.promoted = held.job.promoted;
  // If the agent is killed, the program drops the job by itself.
  wish.lease_ms = static_cast<uint32_t>(limits_.dwell_ms) + 10'000;
  return wish;
}

void Site::take(const api::PollAnswer& answer, Spool& spool) {
  for (const std::string& id : answer.drop) {
    const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                                 [&](const Held& held) { return held.job.id == id; });
    if (at == jobs_.end()) continue;
    unplace(*at);
    jobs_.erase(at);
  }
  for (const api::Job& job : answer.jobs) {
    if (jobs_.size() >= limits_.jobs) break;
    Held held;
    held.job = job;
    held.tau_us = std::min(job.tau_us, limits_.most_tau_us);
    held.serial = ++serial_;
    held.began = Clock::now();
    while (std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const Held& other) { return other.slot == held.slot; }))
      ++held.slot;
    if (held.slot >= DHV_JOBS) break;
    if (!prepare(held)) {
      report(held, nullptr, nullptr, spool);  // not in this build: somebody else's
      continue;
    }
    jobs_.push_back(held);
    place(held);
  }
}

void Site::place(const Held& held) {
  for (Process& process : processes_) {
    process.page->place(held.slot, held.serial, wish_of(held));
    process.page->add_state(held.sites.first, DHV_STATE_JOB);
    process.page->add_state(held.sites.second, DHV_STATE_JOB);
  }
}

void Site::unplace(const Held& held) {
  for (Process& process : processes_) {
    process.page->clear(held.slot);
    for (const uint32_t site : {held.sites.first, held.sites.second}) {
      const bool shared = std::any_of(jobs_.begin(), jobs_.end(), [&](const Held& other) {
        return other.serial != held.serial &&
               (other.sites.first == site || other.sites.second == site);
      });
      if (!shared) process.page->remove_state(site, DHV_STATE_JOB);
    }
  }
}

validate::Orders Site::orders() const {
  validate::Orders orders;
  orders.fingerprint = fingerprint();
  orders.budget_ppm = limits_.budget_ppm;
  orders.standstill_us = limits_.standstill_us;
  if (!limits_.steer) orders.switches &= ~uint32_t{DHV_SWITCH_STEER};
  for (const Held& held : jobs_) {
    orders.wishes.push_back(wish_of(held));
    orders.sites.push_back(held.sites);
    orders.slots.push_back({held.slot, held.serial});
  }
  return orders;
}

void Site::meet(std::unique_ptr<validate::Page> page, bool has_orders) {
  if (processes_.size() >= kMostProcesses) return;
  Process process;
  process.execution = random_name();
  process.page = std::move(page);
  process.ending = Ending(static_cast<pid_t>(process.page->pid()));
  const dhv_counters counters = process.page->counters();
  process.spent_ns = counters.waited_ns + counters.slow_ns;
  if (!has_orders) {
    process.page->set_budget(limits_.budget_ppm, limits_.standstill_us);
    process.page->set_switches(orders().switches);
    for (const Held& held : jobs_) {
      process.page->place(held.slot, held.serial, wish_of(held));
      process.page->add_state(held.sites.first, DHV_STATE_JOB);
      process.page->add_state(held.sites.second, DHV_STATE_JOB);
    }
  }
  process.answers.resize(DHV_JOBS);
  processes_.push_back(std::move(process));
}

bool Site::knows(pid_t process) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const Process& one) {
    return one.page->pid() == static_cast<uint32_t>(process);
  });
}

bool Site::gone(const Process& process) {
  return process.page->ended() || ::kill(static_cast<pid_t>(process.page->pid()), 0) != 0;
}

// True if the job is over: answered, or not reached for long.
bool Site::answered(const Held& held, Spool& spool) {
  const auto now = Clock::now();
  for (Process& process : processes_) {
    validate::Answer answer;
    const bool ended = gone(process);  // before the answer is read: it cannot change any more
    if (!process.page->answer(held.slot, held.serial, answer)) answer = {};
    auto& [outcome, since] = process.answers[held.slot];
    if (answer.outcome != outcome) {
      outcome = answer.outcome;
      since = now;
    }
    const bool final = answer.outcome >= DHV_OUTCOME_NO_RACE;
    const bool settled = answer.outcome > DHV_OUTCOME_EXPIRED && now - since > kGrace;
    if (!final && !settled && !ended) continue;
    report(held, &process, &answer, spool);
    return true;
  }
  if (now - held.began < std::chrono::milliseconds(limits_.dwell_ms) || processes_.empty())
    return false;
  report(held, &processes_[0], nullptr, spool);
  return true;
}

void Site::look(Spool& spool) {
  for (size_t i = 0; i < jobs_.size();) {
    if (!answered(jobs_[i], spool)) {
      ++i;
      continue;
    }
    unplace(jobs_[i]);
    for (Process& process : processes_) process.answers[jobs_[i].slot] = {};
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  tell_crashes(spool);
  std::erase_if(processes_, gone);
}

void Site::report(const Held& held, Process* process, const validate::Answer* answer,
                  Spool& spool) {
  validate::Taus taus;
  taus.first_us = held.tau_us;
  taus.most_us = std::max(held.tau_us, uint32_t{1});
  validate::Attempt attempt;
  attempt.wished = held.job.order;
  attempt.tau_us = held.tau_us;
  const model::Evidence evidence =
      validate::Course(held.number, held.job.candidate, taus).take(attempt, answer);
  api::JobResult result;
  result.id = held.job.id + "." + std::to_string(++reports_);
  result.job = held.job.id;
  result.number = held.job.number;
  result.execution = process == nullptr ? "none" : process->execution;
  result.outcome = evidence.outcome;
  result.proof = evidence.proof;
  result.order = evidence.order;
  result.ordered = evidence.ordered;
  result.maximum_timeout = evidence.maximum_timeout && held.job.last_tau;
  result.tau_us = held.tau_us;
  if (answer != nullptr) result.waited_us = answer->waited_us;
  if (process != nullptr)
    result.promoted = (process->page->candidate_fact(held.number) & DHV_CANDIDATE_PROMOTED) != 0;
  spool.add(instance_, result);
  constexpr size_t kMostRemembered = 64;
  if (process != nullptr && result.outcome == model::Outcome::kRace &&
      process->raced.size() < kMostRemembered)
    process->raced.emplace_back(result, Clock::now());
}

void Site::tell_crashes(Spool& spool) {
  const auto now = Clock::now();
  for (Process& process : processes_) {
    std::erase_if(process.raced, [&](const auto& one) { return now - one.second > kSoon; });
    if (process.raced.empty() || !gone(process) || !process.ending.crashed()) continue;
    for (auto& [result, at] : process.raced) {
      result.id += ".end";
      result.consequence = model::ConsequenceKind::kCrash;
      spool.add(instance_, result);
    }
    process.raced.clear();
  }
}

void Site::off() {
  for (const Held& held : jobs_) unplace(held);
  jobs_.clear();
  for (Process& process : processes_) process.page->set_switches(0);
  processes_.clear();
}

}  // namespace deadheat::hive::agent
