#include "lib/schedule/campaign.h"

#include <algorithm>

#include "lib/confirm/checker.h"
#include "lib/live/instrumented.h"
#include "lib/model/identity.h"
#include "lib/schedule/failures.h"
#include "lib/schedule/schedule_confirmer.h"

namespace deadheat::schedule {
namespace {

using model::ConsequenceKind;

bool can_be_tried(const model::Candidate& candidate) {
  return candidate.roles.size() == 2 && candidate.kind <= model::CandidateKind::kCollision;
}

}  // namespace

void ScheduleConfirmer::choose() {
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

void ScheduleConfirmer::expand() {
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

bool ScheduleConfirmer::is_decided(const Attempt& attempt) const {
  return attempt.gone ||
         is_enough(model::count_trials(file_.findings[attempt.finding], "schedule", key_),
                   options_.trials);
}

Attempt* ScheduleConfirmer::next() {
  Attempt* best = nullptr;
  for (Attempt& attempt : attempts_) {
    if (attempt.decided || attempt.seeds.size() >= options_.trials) continue;
    if (best == nullptr || attempt.seeds.size() < best->seeds.size()) best = &attempt;
  }
  return best;
}

Result<std::unique_ptr<confirm::Execution>> ScheduleConfirmer::start(confirm::Stage stage,
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

Status ScheduleConfirmer::finish(confirm::Stage stage, confirm::Execution& execution,
                                 bool cut_off) {
  if (cut_off) return Ok{};
  if (stage == confirm::Stage::kTrials)
    return finish_trial(static_cast<const TrialExecution&>(execution));
  const auto& child = static_cast<const confirm::ProgramExecution&>(execution);
  if (stage == confirm::Stage::kSerial) return undisturbed_.finish_serial(child);
  undisturbed_.finish(child);
  return Ok{};
}

Status ScheduleConfirmer::learn(confirm::Stage stage) {
  if (stage != confirm::Stage::kSerial) return Ok{};
  undisturbed_.end();
  expand();
  for (Attempt& attempt : attempts_) attempt.decided = is_decided(attempt);
  return Ok{};
}

Result<std::unique_ptr<confirm::Execution>> ScheduleConfirmer::start_trial(
    const confirm::Slot& slot) {
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
  const auto child =
      prepare(options_.target, request, folder, end_of_trial_s(undisturbed_.timeout_s()));
  if (!child) return child.error();
  auto started = runner().start(child.value());
  if (!started) return started.error();
  attempt->seeds.insert(request.seed);
  return std::unique_ptr<confirm::Execution>(std::make_unique<TrialExecution>(
      std::move(*started), static_cast<size_t>(attempt - attempts_.data()), std::move(request)));
}

Result<model::Consequence> ScheduleConfirmer::judge(const TrialResult& trial,
                                                    const std::string& folder) {
  const model::Consequence consequence = undisturbed_.baseline().judge(trial.seen);
  if (options_.checker.empty() || consequence.kind >= ConsequenceKind::kAssertion)
    return consequence;
  auto checked =
      confirm::run_checker(options_.checker, folder, trial.seen.child, options_.target.directory);
  if (!checked) return checked.error();
  return checked.value().kind == ConsequenceKind::kNone ? consequence : checked.value();
}

Status ScheduleConfirmer::finish_trial(const TrialExecution& one) {
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

void ScheduleConfirmer::describe(confirm::Progress& progress) const {
  progress.candidates += attempts_.size();
  progress.trials += trials_;
  if (!current_.empty()) progress.current = current_;
  for (const Attempt& attempt : attempts_) {
    const model::Verdict verdict = model::fold(file_.findings[attempt.finding]);
    const model::TrialCount count =
        model::count_trials(file_.findings[attempt.finding], "schedule", key_);
    progress.decided += attempt.decided ? 1 : 0;
    progress.gone += attempt.gone ? 1 : 0;
    progress.true_races += count.races > 0 ? 1 : 0;
    progress.harmful +=
        count.races > 0 && verdict.consequence.kind != ConsequenceKind::kNone ? 1 : 0;
    if (!attempt.decided)
      progress.trials_left += options_.trials - std::min(options_.trials, count.trials);
  }
}

Outcome ScheduleConfirmer::outcome(const confirm::Engine& engine) {
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

Result<Outcome> run_campaign(const Options& options, model::FindingsFile& file) {
  ScheduleConfirmer confirmer(options, file);
  confirm::EngineOptions how;
  how.time = options.time;
  how.stopped = options.stopped;
  how.slots = options.jobs;
  how.progress = options.progress;
  if (options.save) how.save = [&] { options.save(file); };
  confirm::Engine engine(std::move(how));
  std::vector<confirm::Confirmer*> confirmers = {&confirmer};
  if (options.beside != nullptr) confirmers.push_back(options.beside);
  const Status done = engine.run(confirmers);
  if (options.beside_ends) options.beside_ends();
  drop_explained(file);
  if (!done) return done.error();
  return confirmer.outcome(engine);
}

}  // namespace deadheat::schedule
