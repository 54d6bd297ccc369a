#include "lib/campaign/campaign.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/base/processors.h"
#include "lib/base/text.h"
#include "lib/campaign/attach.h"
#include "lib/campaign/failures.h"
#include "lib/campaign/left_to_system.h"
#include "lib/campaign/story.h"
#include "lib/campaign/undisturbed.h"
#include "lib/live/instrumented.h"
#include "lib/model/identity.h"

namespace deadheat::campaign {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using model::ConsequenceKind;

constexpr int kPollMs = 100;
constexpr double kSaveEvery_s = 2;
constexpr auto kShowEvery = std::chrono::milliseconds(200);  // counting reads all evidence
constexpr uint64_t kMostOfOthers = 2;  // evidence for a race that nobody asked for: enough to tell

struct Attempt {
  size_t finding = 0;  // index into the file
  std::string key;     // of the candidate
  std::vector<RequestedSite> sites;
  std::set<uint64_t> seeds;  // tried, or being tried
  uint64_t running = 0;
  bool gone = false, decided = false;
};

bool can_be_tried(const model::Candidate& candidate) {
  return candidate.roles.size() == 2 && candidate.kind <= model::CandidateKind::kCollision;
}

class Runner {
 public:
  Runner(const Options& options, model::FindingsFile& file)
      : options_(options),
        file_(file),
        key_(campaign_key(options)),
        expander_(symbolizer_, live::find_program(options.target.program.at(0))),
        started_(Clock::now()),
        saved_(started_) {}

  Result<Outcome> run() {
    choose();
    outcome_.progress.stage = "undisturbed runs";
    auto learnt = learn_undisturbed(
        options_, children_, symbolizer_, [this] { return stopped(); }, [this] { show(); });
    if (!learnt) return learnt.error();
    undisturbed_ = std::move(learnt).value();
    if (stopped()) return finish();
    expand();
    for (Attempt& attempt : attempts_) attempt.decided = is_decided(attempt);
    outcome_.progress.stage = "trials";
    while (!stopped()) {
      if (const Status status = start_more(); !status) return status.error();
      if (children_.running() == 0) break;
      for (const Children::Ended& ended : children_.wait(kPollMs))
        if (const Status status = finish_trial(ended); !status) return status.error();
      show();
    }
    children_.end_all();
    return finish();
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  bool stopped() {
    outcome_.stopped = outcome_.stopped || (options_.stopped && options_.stopped());
    outcome_.out_of_time = options_.time.over();
    return outcome_.stopped || outcome_.out_of_time;
  }
  std::string new_folder() { return options_.work + "/" + std::to_string(++folders_); }
  // A name that no other execution has; nobody reads it.
  std::string execution(const Attempt& attempt, const std::string& last) const {
    return "confirm:" + key_ + "/" + attempt.key + "/" + last;
  }
  // A trial of this campaign that was directed at the attempt's candidate.
  bool is_of(const model::Evidence& evidence, const Attempt& attempt) const {
    if (!evidence.trial) return false;
    const model::Reproducer& how = evidence.trial->reproducer;
    return how.kind == model::ReproducerKind::kSeed && how.campaign == key_ &&
           how.candidate == attempt.key;
  }
  void name_trial(model::Evidence& evidence, const Attempt& attempt, uint64_t seed) const {
    evidence.execution = evidence.id = execution(attempt, std::to_string(seed));
    if (!evidence.trial) return;
    evidence.trial->reproducer.campaign = key_;
    evidence.trial->reproducer.candidate = attempt.key;
  }
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  void choose();
  void expand();
  bool is_decided(const Attempt& attempt) const;
  Attempt* next();
  size_t free_slot() const;
  Status start_more();
  Status finish_trial(const Children::Ended& ended);
  Result<model::Consequence> judge(const TrialResult& trial, const std::string& folder);
  void keep(Attempt& attempt, Attached attached, const TrialResult& trial,
            const TrialRequest& request, const std::string& folder);
  template <typename Is>
  bool had(const Attempt& attempt, Is is) const;
  void announce(const Attempt& attempt, const model::Evidence& evidence, uint64_t seed) const;
  void keep_log(const Attempt& attempt, const TrialRequest& request, const std::string& folder);
  void keep_failure(const Attempt& attempt, const TrialResult& trial,
                    const model::Evidence& evidence, const TrialRequest& request,
                    const std::string& folder);
  void keep_others(Attempt& attempt, std::vector<model::Finding> others,
                   const TrialRequest& request);
  std::string repeat_command(const Attempt& attempt, uint64_t seed) const;
  void recount();
  void show();
  Outcome finish();

  const Options& options_;
  model::FindingsFile& file_;
  const std::string key_;
  Children children_;
  symbols::Symbolizer symbolizer_;
  SiteExpander expander_;
  Undisturbed undisturbed_;
  std::vector<Attempt> attempts_;
  struct Running {
    size_t attempt = 0;
    TrialRequest request;
    std::string folder;
    size_t slot = 0;  // of options.jobs
  };
  std::map<uint64_t, Running> running_;
  // A trial runs one thread at a time: passing the baton within one processor is cheapest.
  const std::vector<int> processors_ = usable_processors();
  std::map<std::string, uint64_t> others_;
  uint64_t tags_ = 0, folders_ = 0;
  LeftToSystem left_;
  uint64_t only_atomic_ = 0, elsewhere_ = 0, not_started_ = 0, logs_lost_ = 0, unresolved_ = 0;
  Clock::time_point started_, saved_, shown_;
  Outcome outcome_;
};

void Runner::choose() {
  for (size_t i = 0; i < file_.findings.size(); ++i) {
    const model::Finding& finding = file_.findings[i];
    if (!can_be_tried(finding.candidate)) continue;
    if (!options_.only.empty() && !options_.only.contains(model::display_id(finding.candidate)))
      continue;
    Attempt attempt;
    attempt.finding = i;
    attempt.key = candidate_key(finding.candidate);
    for (const model::Evidence& evidence : finding.evidence) {
      if (is_of(evidence, attempt)) attempt.seeds.insert(evidence.trial->reproducer.seed);
    }
    attempts_.push_back(std::move(attempt));
  }
}

void Runner::expand() {
  for (Attempt& attempt : attempts_) {
    model::Finding& finding = file_.findings[attempt.finding];
    auto sites = expander_.expand(finding);
    if (sites) {
      attempt.sites = std::move(sites).value();
      continue;
    }
    attempt.gone = attempt.decided = true;
    model::Evidence evidence;
    evidence.id = execution(attempt, "gone");
    evidence.execution = evidence.id;
    evidence.source = "schedule";
    evidence.why = sites.error().message;
    evidence.trial = model::Trial{.confirmer = "schedule"};
    std::erase_if(finding.evidence, [&](const model::Evidence& e) { return e.id == evidence.id; });
    finding.evidence.push_back(std::move(evidence));
    say(model::display_id(finding.candidate) + ": " + sites.error().message);
  }
}

bool Runner::is_decided(const Attempt& attempt) const {
  return attempt.gone ||
         is_enough(model::count_trials(file_.findings[attempt.finding], "schedule", key_),
                   options_.trials);
}

Attempt* Runner::next() {
  Attempt* best = nullptr;
  for (Attempt& attempt : attempts_) {
    if (attempt.decided || attempt.seeds.size() >= options_.trials) continue;
    if (best == nullptr || attempt.seeds.size() < best->seeds.size()) best = &attempt;
  }
  return best;
}

size_t Runner::free_slot() const {
  std::set<size_t> taken;
  for (const auto& [tag, one] : running_) taken.insert(one.slot);
  size_t slot = 0;
  while (taken.contains(slot)) ++slot;
  return slot;
}

Status Runner::start_more() {
  while (children_.running() < options_.jobs) {
    Attempt* attempt = next();
    if (attempt == nullptr) return Ok{};
    Running one;
    one.attempt = static_cast<size_t>(attempt - attempts_.data());
    one.folder = new_folder();
    one.request.strategy = options_.strategy;
    one.request.seed = options_.seed;
    while (attempt->seeds.contains(one.request.seed)) ++one.request.seed;
    if (options_.strategy == "pct") {
      one.request.depth = options_.depth;
      one.request.length = undisturbed_.length;
    }
    one.request.spins = undisturbed_.spins || left_.spins();
    one.request.sites = attempt->sites;
    set_limits(one.request, undisturbed_.timeout_s, undisturbed_.baseline.slowest_s());
    one.slot = free_slot();
    if (!processors_.empty()) one.request.cpu = processors_[one.slot % processors_.size()];
    one.request.decisions = decisions_path(one.folder);
    const auto child = prepare(options_.target, one.request, one.folder, undisturbed_.timeout_s);
    if (!child) return child.error();
    if (const Status begun = children_.start(++tags_, child.value()); !begun) return begun.error();
    attempt->seeds.insert(one.request.seed);
    ++attempt->running;
    running_[tags_] = std::move(one);
  }
  return Ok{};
}

Result<model::Consequence> Runner::judge(const TrialResult& trial, const std::string& folder) {
  const model::Consequence consequence = undisturbed_.baseline.judge(trial.seen);
  if (options_.checker.empty() || consequence.kind >= ConsequenceKind::kAssertion)
    return consequence;
  auto checked = run_checker(options_.checker, folder, trial.seen.child);
  if (!checked) return checked.error();
  return checked.value().kind == ConsequenceKind::kNone ? consequence : checked.value();
}

Status Runner::finish_trial(const Children::Ended& ended) {
  const auto found = running_.find(ended.tag);
  if (found == running_.end()) return Ok{};
  const Running one = std::move(found->second);
  running_.erase(found);
  Attempt& attempt = attempts_[one.attempt];
  --attempt.running;
  ++outcome_.progress.trials;
  const TrialResult trial =
      collect(options_.target, one.request, ended.result, one.folder,
              execution(attempt, std::to_string(one.request.seed)), symbolizer_);
  if (trial.seen.runtime_refused || !trial.started) ++not_started_;
  if (trial.seen.shows_nothing()) ++unresolved_;
  for (const model::Origin& origin : trial.races.origins) left_.add(origin.counters);
  auto consequence = judge(trial, one.folder);
  if (!consequence) return consequence.error();
  const model::Candidate& candidate = file_.findings[attempt.finding].candidate;
  Attached attached = attach(trial, one.request, candidate, consequence.value());
  outcome_.progress.current = live::one_line(candidate);
  only_atomic_ += attached.only_atomic ? 1 : 0;
  keep_others(attempt, std::move(attached.others), one.request);
  attached.others.clear();
  keep_failure(attempt, trial, attached.evidence, one.request, one.folder);
  keep(attempt, std::move(attached), trial, one.request, one.folder);
  attempt.decided = is_decided(attempt);
  std::error_code ignored;
  fs::remove_all(one.folder, ignored);
  return Ok{};
}

std::string Runner::repeat_command(const Attempt& attempt, uint64_t seed) const {
  const std::string id = model::display_id(file_.findings[attempt.finding].candidate);
  const auto same = std::count_if(
      file_.findings.begin(), file_.findings.end(),
      [&](const model::Finding& finding) { return model::display_id(finding.candidate) == id; });
  return "deadheat replay " + options_.findings + " " + (same > 1 ? attempt.key : id) + " --seed " +
         std::to_string(seed);
}

// In full: the first race of each order and consequence, and the first failures without it. Of the
// others, that they were.
void Runner::keep(Attempt& attempt, Attached attached, const TrialResult& trial,
                  const TrialRequest& request, const std::string& folder) {
  model::Finding& finding = file_.findings[attempt.finding];
  model::Evidence evidence = std::move(attached.evidence);
  name_trial(evidence, attempt, request.seed);
  const bool race = evidence.outcome == model::Outcome::kRace;
  const bool failed = evidence.consequence.kind != ConsequenceKind::kNone;
  elsewhere_ += failed && !race ? 1 : 0;
  if (race) announce(attempt, evidence, request.seed);
  const bool known = had(attempt, [&](const model::Evidence& e) {
    return e.outcome == evidence.outcome && e.order == evidence.order &&
           e.consequence.kind == evidence.consequence.kind && !e.repeat.empty();
  });
  if ((race || failed) && !known) {
    evidence.repeat = repeat_command(attempt, request.seed);
    if (race) tell_story(trial, evidence, symbolizer_);
    keep_log(attempt, request, folder);
  } else {
    evidence.accesses.clear();
    evidence.why.clear();
    evidence.repeat.clear();
  }
  finding.evidence.push_back(std::move(evidence));
}

// Whether an earlier trial of the attempt showed it.
template <typename Is>
bool Runner::had(const Attempt& attempt, Is is) const {
  const auto& all = file_.findings[attempt.finding].evidence;
  return std::any_of(all.begin(), all.end(),
                     [&](const model::Evidence& e) { return is_of(e, attempt) && is(e); });
}

void Runner::announce(const Attempt& attempt, const model::Evidence& evidence,
                      uint64_t seed) const {
  const bool failed = evidence.consequence.kind != ConsequenceKind::kNone;
  const bool met =
      had(attempt, [](const model::Evidence& e) { return e.outcome == model::Outcome::kRace; });
  const bool hurt = had(attempt, [&](const model::Evidence& e) {
    return e.outcome == model::Outcome::kRace && e.consequence.kind == evidence.consequence.kind;
  });
  if (met && (!failed || hurt)) return;
  say(std::string(failed ? "failed: " : "made to happen: ") +
      live::one_line(file_.findings[attempt.finding].candidate) +
      (failed ? ": " + evidence.consequence.detail : "") + " (seed " + std::to_string(seed) + ")");
}

void Runner::keep_log(const Attempt& attempt, const TrialRequest& request,
                      const std::string& folder) {
  if (options_.schedules.empty()) return;
  std::error_code ignored;
  fs::create_directories(options_.schedules, ignored);
  const std::string kept = schedule_path(options_.schedules, attempt.key, request.seed);
  if (!copy_decisions(decisions_path(folder), kept)) ++logs_lost_;
}

// A failure without a race is a finding of its own. It names the candidate that the trial was
// directed at by its execution: that is how the trial is repeated.
void Runner::keep_failure(const Attempt& attempt, const TrialResult& trial,
                          const model::Evidence& evidence, const TrialRequest& request,
                          const std::string& folder) {
  auto failure = failure_of(trial, evidence, options_.target.program[0]);
  if (!failure) return;
  const std::string id = model::display_id(failure->candidate);
  const std::string seed = std::to_string(request.seed);
  model::Evidence& shown = failure->evidence[0];
  name_trial(shown, attempt, request.seed);
  const bool known =
      std::any_of(file_.findings.begin(), file_.findings.end(), [&](const model::Finding& finding) {
        return finding.candidate.kind == model::CandidateKind::kFailure &&
               model::display_id(finding.candidate) == id;
      });
  if (known) {
    shown.accesses.clear();
  } else {
    shown.repeat = "deadheat replay " + options_.findings + " " + id + " --seed " + seed;
    keep_log(attempt, request, folder);
    say("failed without a race: " + shown.consequence.detail + " (seed " + seed + ")");
  }
  model::add_finding(file_, std::move(*failure));
}

void Runner::keep_others(Attempt& attempt, std::vector<model::Finding> others,
                         const TrialRequest& request) {
  for (model::Finding& other : others) {
    if (++others_[candidate_key(other.candidate)] > kMostOfOthers) continue;
    other.evidence.resize(1);
    // Directed at another candidate: no trial of this one, but that trial repeats it.
    other.evidence[0].trial.reset();
    other.evidence[0].repeat = repeat_command(attempt, request.seed);
    model::add_finding(file_, std::move(other));
  }
}

void Runner::recount() {
  Progress& progress = outcome_.progress;
  progress.candidates = attempts_.size();
  progress.decided = progress.confirmed = progress.harmful = progress.gone = progress.trials_left =
      0;
  for (const Attempt& attempt : attempts_) {
    const model::Verdict verdict = model::fold(file_.findings[attempt.finding]);
    const model::TrialCount count =
        model::count_trials(file_.findings[attempt.finding], "schedule", key_);
    progress.decided += attempt.decided ? 1 : 0;
    progress.gone += attempt.gone ? 1 : 0;
    progress.confirmed += count.races > 0 ? 1 : 0;
    progress.harmful +=
        count.races > 0 && verdict.consequence.kind != ConsequenceKind::kNone ? 1 : 0;
    if (!attempt.decided)
      progress.trials_left += options_.trials - std::min(options_.trials, count.trials);
  }
  progress.seconds = seconds();
}

void Runner::show() {
  const auto now = Clock::now();
  if (options_.progress && now - shown_ >= kShowEvery) {
    recount();
    options_.progress(outcome_.progress);
    shown_ = Clock::now();
  }
  if (!options_.save || std::chrono::duration<double>(now - saved_).count() < kSaveEvery_s) return;
  options_.save(file_);
  saved_ = Clock::now();
}

Outcome Runner::finish() {
  for (Attempt& attempt : attempts_) attempt.decided = attempt.decided || is_decided(attempt);
  recount();
  Outcome& out = outcome_;
  const auto count = [&](const char* name, uint64_t value, const char* meaning, bool loss) {
    out.counters.push_back({name, value, meaning, loss});
  };
  count("trials", out.progress.trials, "trials were run", false);
  count("undisturbed_runs", undisturbed_.baseline.runs(),
        "runs without interference, one of them serial", false);
  count("failures_elsewhere", elsewhere_, "trials failed without meeting the race they were for",
        false);
  count("only_atomic", only_atomic_, "meetings were between atomic accesses: no data race", false);
  count("trials_not_started", not_started_, "trials in which the scheduler did not start", true);
  count("trials_unresolved", unresolved_,
        "trials were ended by us, and it was not shown that the program hangs", true);
  count("logs_lost", logs_lost_, "logs of decisions could not be kept: replays compare less", true);
  count("sites_gone", out.progress.gone, "candidates whose code is not in the program any more",
        true);
  out.counters.push_back({"not_decided", out.progress.candidates - out.progress.decided,
                          std::string("candidates were not tried to the end: ") +
                              (out.stopped ? "stopped" : "no time left"),
                          true, true});
  left_.append_to(out.counters);
  out.problems = undisturbed_.problems;
  if (!children_.same_addresses())
    out.problems.emplace_back(
        "addresses differ from trial to trial: this machine does not let them be fixed");
  for (std::string& problem : symbolizer_.problems()) out.problems.push_back(std::move(problem));
  return std::move(outcome_);
}

}  // namespace

Result<Outcome> run_campaign(const Options& options, model::FindingsFile& file) {
  auto outcome = Runner(options, file).run();
  drop_explained(file);
  return outcome;
}

}  // namespace deadheat::campaign
