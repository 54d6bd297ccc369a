// What the confirmer of threads keeps of a trial: evidence for its candidate, failures and other
// races as findings of their own, and the log that repeats it.
#include <algorithm>
#include <filesystem>

#include "lib/live/instrumented.h"
#include "lib/model/identity.h"
#include "lib/schedule/failures.h"
#include "lib/schedule/schedule_confirmer.h"
#include "lib/schedule/story.h"

namespace deadheat::schedule {

namespace fs = std::filesystem;
using model::ConsequenceKind;

namespace {

constexpr uint64_t kMostOfOthers = 2;  // pieces of evidence for a race other than the requested one

}  // namespace

std::string ScheduleConfirmer::repeat_command(const Attempt& attempt, uint64_t seed) const {
  const std::string id = model::display_id(file_.findings[attempt.finding].candidate);
  const auto same = std::count_if(
      file_.findings.begin(), file_.findings.end(),
      [&](const model::Finding& finding) { return model::display_id(finding.candidate) == id; });
  return "deadheat replay " + options_.findings + " " + (same > 1 ? attempt.key : id) + " --seed " +
         std::to_string(seed);
}

// Keeps in full the first race of each order and consequence, and the first failures without a
// race; of the others, only that they happened.
void ScheduleConfirmer::keep(Attempt& attempt, Attached attached, const TrialResult& trial,
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
bool ScheduleConfirmer::had(const Attempt& attempt, Is is) const {
  const auto& all = file_.findings[attempt.finding].evidence;
  return std::any_of(all.begin(), all.end(),
                     [&](const model::Evidence& e) { return is_of(e, attempt) && is(e); });
}

void ScheduleConfirmer::announce(const Attempt& attempt, const model::Evidence& evidence,
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

void ScheduleConfirmer::keep_log(const Attempt& attempt, const TrialRequest& request,
                                 const std::string& folder) {
  if (options_.schedules.empty()) return;
  std::error_code ignored;
  fs::create_directories(options_.schedules, ignored);
  const std::string kept = schedule_path(options_.schedules, attempt.key, request.seed);
  if (!copy_decisions(decisions_path(folder), kept)) ++logs_lost_;
}

// A failure without a race is a separate finding. Its execution names the candidate that the trial
// was directed at: that is how the trial is repeated.
void ScheduleConfirmer::keep_failure(const Attempt& attempt, const TrialResult& trial,
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

void ScheduleConfirmer::keep_others(Attempt& attempt, std::vector<model::Finding> others,
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

}  // namespace deadheat::schedule
