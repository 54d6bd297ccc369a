#include "lib/schedule/campaign.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/text.h"
#include "lib/confirm/checker.h"
#include "lib/confirm/engine.h"
#include "lib/live/instrumented.h"
#include "lib/model/identity.h"
#include "lib/schedule/attach.h"
#include "lib/schedule/failures.h"
#include "lib/schedule/left_to_system.h"
#include "lib/schedule/story.h"
#include "lib/schedule/undisturbed.h"

namespace deadheat::schedule {
namespace {

namespace fs = std::filesystem;
using model::ConsequenceKind;

constexpr uint64_t kMostOfOthers = 2;  // pieces of evidence for a race other than the requested one

struct Attempt {
  size_t finding = 0;  // index into the file
  std::string key;     // of the candidate
  std::vector<RequestedSite> sites;
  std::set<uint64_t> seeds;  // tried, or in progress
  bool gone = false, decided = false;
};

bool can_be_tried(const model::Candidate& candidate) {
  return candidate.roles.size() == 2 && candidate.kind <= model::CandidateKind::kCollision;
}

// A running trial.
class TrialExecution : public confirm::Execution {
 public:
  TrialExecution(std::unique_ptr<confirm::ProgramExecution> its_program, size_t its_attempt,
                 TrialRequest its_request)
      : program(std::move(its_program)), attempt(its_attempt), request(std::move(its_request)) {}
  int done_fd() const override { return program->done_fd(); }
  bool ended() override { return program->ended(); }
  void kill() override { program->kill(); }

  const std::unique_ptr<confirm::ProgramExecution> program;
  const size_t attempt;
  const TrialRequest request;
};

class Runner : public confirm::Confirmer {
 public:
  Runner(const Options& options, model::FindingsFile& file)
      : options_(options),
        file_(file),
        key_(campaign_key(options)),
        expander_(symbolizer_, find_program(options.target.program.at(0))),
        undisturbed_(options, runner(), symbolizer_) {
    choose();
  }

  Result<std::unique_ptr<confirm::Execution>> start(confirm::Stage stage,
                                                    const confirm::Slot& slot) override;
  Status finish(confirm::Stage stage, confirm::Execution& execution, bool cut_off) override;
  Status learn(confirm::Stage stage) override;
  void describe(confirm::Progress& progress) const override;
  Outcome outcome(const confirm::Engine& engine);

 private:
  confirm::Runner& runner() { return options_.runner != nullptr ? *options_.runner : local_; }

  // A unique name for the execution; it is never parsed.
  std::string execution(const Attempt& attempt, const std::string& last) const {
    return "confirm:" + key_ + "/" + attempt.key + "/" + last;
  }
  // Whether this campaign's trial was directed at the attempt's candidate.
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
  Result<std::unique_ptr<confirm::Execution>> start_trial(const confirm::Slot& slot);
  Status finish_trial(const TrialExecution& one);
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

  const Options& options_;
  model::FindingsFile& file_;
  const std::string key_;
  confirm::LocalRunner local_;
  symbols::Symbolizer symbolizer_;
  places::SiteExpander expander_;
  Undisturbed undisturbed_;
  std::vector<Attempt> attempts_;
  std::map<std::string, uint64_t> others_;
  uint64_t folders_ = 0, trials_ = 0;
  std::string current_;  // the candidate of the last trial, in one line
  LeftToSystem left_;
  uint64_t only_atomic_ = 0, elsewhere_ = 0, not_started_ = 0, logs_lost_ = 0, unresolved_ = 0;
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

Result<std::unique_ptr<confirm::Execution>> Runner::start(confirm::Stage stage,
                                                          const confirm::Slot& slot) {
  switch (stage) {
    case confirm::Stage::kUndisturbed:
      return undisturbed_.start();
    case confirm::Stage::kSerial:
      return undisturbed_.start_serial();
    case confirm::Stage::kTrials:
      break;
  }
  return start_trial(slot);
}

Status Runner::finish(confirm::Stage stage, confirm::Execution& execution, bool cut_off) {
  if (cut_off) return Ok{};
  if (stage == confirm::Stage::kTrials)
    return finish_trial(static_cast<const TrialExecution&>(execution));
  const auto& child = static_cast<const confirm::ProgramExecution&>(execution);
  if (stage == confirm::Stage::kSerial) return undisturbed_.finish_serial(child);
  undisturbed_.finish(child);
  return Ok{};
}

Status Runner::learn(confirm::Stage stage) {
  if (stage != confirm::Stage::kSerial) return Ok{};
  undisturbed_.end();
  expand();
  for (Attempt& attempt : attempts_) attempt.decided = is_decided(attempt);
  return Ok{};
}

Result<std::unique_ptr<confirm::Execution>> Runner::start_trial(const confirm::Slot& slot) {
  Attempt* attempt = next();
  if (attempt == nullptr) return std::unique_ptr<confirm::Execution>();
  const std::string folder = options_.work + "/" + std::to_string(++folders_);
  TrialRequest request;
  request.strategy = options_.strategy;
  request.seed = options_.seed;
  while (attempt->seeds.contains(request.seed)) ++request.seed;
  if (options_.strategy == "pct") {
    request.depth = options_.depth;
    request.length = undisturbed_.length();
  }
  request.spins = undisturbed_.spins() || left_.spins();
  request.sites = attempt->sites;
  set_limits(request, undisturbed_.timeout_s(), undisturbed_.baseline().slowest_s());
  // A trial runs one thread at a time: passing the baton on one processor is cheapest.
  if (runner().is_local()) request.cpu = slot.processor;
  request.decisions = decisions_path(folder);
  const auto child = prepare(options_.target, request, folder, undisturbed_.timeout_s());
  if (!child) return child.error();
  auto started = runner().start(child.value());
  if (!started) return started.error();
  attempt->seeds.insert(request.seed);
  return std::unique_ptr<confirm::Execution>(std::make_unique<TrialExecution>(
      std::move(*started), static_cast<size_t>(attempt - attempts_.data()), std::move(request)));
}

Result<model::Consequence> Runner::judge(const TrialResult& trial, const std::string& folder) {
  const model::Consequence consequence = undisturbed_.baseline().judge(trial.seen);
  if (options_.checker.empty() || consequence.kind >= ConsequenceKind::kAssertion)
    return consequence;
  auto checked =
      confirm::run_checker(options_.checker, folder, trial.seen.child, options_.target.directory);
  if (!checked) return checked.error();
  return checked.value().kind == ConsequenceKind::kNone ? consequence : checked.value();
}

Status Runner::finish_trial(const TrialExecution& one) {
  Attempt& attempt = attempts_[one.attempt];
  ++trials_;
  const TrialResult trial =
      collect(options_.target, one.request, one.program->result(), one.program->folder(),
              execution(attempt, std::to_string(one.request.seed)), symbolizer_);
  if (trial.seen.runtime_refused || !trial.started) ++not_started_;
  if (trial.seen.shows_nothing()) ++unresolved_;
  for (const model::Origin& origin : trial.races.origins) left_.add(origin.counters);
  auto consequence = judge(trial, one.program->folder());
  if (!consequence) return consequence.error();
  const model::Candidate& candidate = file_.findings[attempt.finding].candidate;
  Attached attached = attach(trial, one.request, candidate, consequence.value());
  current_ = live::one_line(candidate);
  only_atomic_ += attached.only_atomic ? 1 : 0;
  keep_others(attempt, std::move(attached.others), one.request);
  attached.others.clear();
  keep_failure(attempt, trial, attached.evidence, one.request, one.program->folder());
  keep(attempt, std::move(attached), trial, one.request, one.program->folder());
  attempt.decided = is_decided(attempt);
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

// Keeps in full the first race of each order and consequence, and the first failures without a
// race; of the others, only that they happened.
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

// A failure without a race is a separate finding. Its execution names the candidate that the trial
// was directed at: that is how the trial is repeated.
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
    // It was directed at another candidate: not a trial of this one, but that trial repeats it.
    other.evidence[0].trial.reset();
    other.evidence[0].repeat = repeat_command(attempt, request.seed);
    model::add_finding(file_, std::move(other));
  }
}

void Runner::describe(confirm::Progress& progress) const {
  progress.candidates += attempts_.size();
  progress.trials += trials_;
  if (!current_.empty()) progress.current = current_;
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
}

Outcome Runner::outcome(const confirm::Engine& engine) {
  for (Attempt& attempt : attempts_) attempt.decided = attempt.decided || is_decided(attempt);
  Outcome out;
  out.stopped = engine.stopped();
  out.out_of_time = engine.out_of_time();
  out.progress.stage = confirm::Stage::kTrials;
  out.progress.seconds = engine.seconds();
  describe(out.progress);
  const auto count = [&](const char* name, uint64_t value, const char* meaning, bool loss) {
    out.counters.push_back({name, value, meaning, loss});
  };
  count("trials", out.progress.trials, "trials were run", false);
  count("undisturbed_runs", undisturbed_.baseline().runs(),
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
  out.problems = undisturbed_.problems();
  if (!runner().same_addresses())
    out.problems.emplace_back(
        "addresses differ from trial to trial: this machine does not let them be fixed");
  for (std::string& problem : runner().problems()) out.problems.push_back(std::move(problem));
  for (std::string& problem : symbolizer_.problems()) out.problems.push_back(std::move(problem));
  return out;
}

}  // namespace

Result<Outcome> run_campaign(const Options& options, model::FindingsFile& file) {
  Runner runner(options, file);
  confirm::EngineOptions how;
  how.time = options.time;
  how.stopped = options.stopped;
  how.slots = options.jobs;
  how.progress = options.progress;
  if (options.save) how.save = [&] { options.save(file); };
  confirm::Engine engine(std::move(how));
  std::vector<confirm::Confirmer*> confirmers = {&runner};
  if (options.beside != nullptr) confirmers.push_back(options.beside);
  const Status done = engine.run(confirmers);
  if (options.beside_ends) options.beside_ends();
  drop_explained(file);
  if (!done) return done.error();
  return runner.outcome(engine);
}

}  // namespace deadheat::schedule
