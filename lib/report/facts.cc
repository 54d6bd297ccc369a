#include "lib/report/facts.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "lib/base/text.h"
#include "lib/model/trials.h"
#include "lib/report/clean_text.h"
#include "lib/report/names.h"
#include "lib/report/validation.h"

namespace deadheat::report {

using model::Evidence;
using model::Outcome;
using model::Proof;
using model::Schedulable;
using model::VerdictState;

namespace {

constexpr size_t kTitleName = 72;
constexpr std::string_view kScheduler = "schedule";

// Addresses differ in every run; names and descriptions do not.
bool is_stable(const std::string& location) {
  return !location.empty() && location.find("0x") == std::string::npos;
}

std::string subject(const model::Candidate& candidate, const Evidence* example) {
  for (const model::Role& role : candidate.roles)
    if (!role.site.variable.empty()) return role.site.variable;
  for (const model::Role& role : candidate.roles)
    if (!role.site.object.empty()) return role.site.object;
  if (example != nullptr)
    for (const model::Access& access : example->accesses)
      if (is_stable(access.location)) return access.location;
  return {};
}

std::string held(const std::vector<std::string>& locks) {
  return locks.empty() ? "no lock" : join(locks, ", ");
}

// A process without its command line, which the report shows elsewhere.
std::string who(const Place& place) {
  return place.thread.starts_with("process ") ? place.thread.substr(0, place.thread.find(" ("))
                                              : place.thread;
}

std::string locks_sentence(const std::vector<Place>& places) {
  if (!std::all_of(places.begin(), places.end(),
                   [](const Place& place) { return place.locks_known; }))
    return {};
  if (std::all_of(places.begin(), places.end(),
                  [](const Place& place) { return place.locks.empty(); }))
    return places.size() == 2 ? "Neither side held a lock." : "No side held a lock.";
  std::vector<std::string> parts;
  for (const Place& place : places)
    parts.push_back("the " + place.action + (place.thread.empty() ? "" : " in " + who(place)) +
                    " held " + held(place.locks));
  std::string text = join(parts, "; ");
  if (!text.empty()) text[0] = 'T';
  std::vector<std::string> common =
      places.empty() ? std::vector<std::string>{} : places.front().locks;
  for (const Place& place : places)
    std::erase_if(common, [&](const std::string& lock) {
      return std::find(place.locks.begin(), place.locks.end(), lock) == place.locks.end();
    });
  return text + (common.empty() ? ". They have no lock in common."
                                : ". In common: " + join(common, ", ") + ".");
}

std::string ended(std::string text) {
  text = std::string(trim(text));
  if (!text.empty() && !text.ends_with('.') && !text.ends_with('!') && !text.ends_with('?'))
    text += '.';
  return text;
}

std::string sentence(std::string text) {
  text = ended(std::move(text));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string proof_sentence(Proof proof) {
  switch (proof) {
    case Proof::kHappensBefore:
      return "the accesses were unordered by happens-before in an execution whose "
             "synchronisation was seen";
    case Proof::kCoEnabled:
      return "a scheduler held both threads at their accesses at the same time";
    case Proof::kCollision:
      return "a watchpoint saw both accesses at one place at one time";
    case Proof::kFailedBranch:
      return "the command was run in the other order, and broke as no undisturbed run did";
    case Proof::kAgentClaim:
      return "an agent reported it; we have not seen it ourselves";
    case Proof::kPartialHappensBefore:
      return "the accesses were unordered by the happens-before that was seen, and it was not all";
    case Proof::kNone:
    case Proof::kCount:
      break;
  }
  return "seen in an execution";
}

// The proof behind the verdict: the example's, or another if that is stronger.
Proof proof_of(const Entry& entry, const Evidence* example) {
  if (example != nullptr && model::basis_of(example->proof) == entry.verdict.basis)
    return example->proof;
  for (const Evidence& evidence : entry.finding.evidence)
    if (evidence.outcome == Outcome::kRace && evidence.withdraws.empty() &&
        model::basis_of(evidence.proof) == entry.verdict.basis)
      return evidence.proof;
  return example == nullptr ? Proof::kNone : example->proof;
}

std::string_view basis_word(model::Basis basis) {
  switch (basis) {
    case model::Basis::kObserved:
      return rank_title(Rank::kObserved);
    case model::Basis::kMadeToHappen:
      return rank_title(Rank::kMadeToHappen);
    default:
      return "Claimed";
  }
}

// An entry that is a facility of the kernel or of libc, not a module, is described in words
// (runtime/common/unseen.h).
bool is_in_words(std::string_view name) {
  return name.starts_with("the kernel's ") || name.starts_with("libc's ");
}

// "code of libpool.so, inline assembly of server"
std::string unseen_code(const Evidence& evidence) {
  std::vector<std::string> modules, assembly;
  for (const std::string& name : evidence.unseen)
    (is_in_words(name) || name.starts_with("inline assembly of ") ? assembly : modules)
        .push_back(clean_name(is_in_words(name) ? name : base_name(name)));
  if (modules.empty() && assembly.empty()) return "code";
  std::vector<std::string> parts = std::move(assembly);
  if (!modules.empty()) parts.insert(parts.begin(), "code of " + join(modules, ", "));
  return join(parts, ", ");
}

std::string percent(double share) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%.0f%%", share * 100);
  return buffer;
}

std::string decimal(double value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

// What the scheduler tried, and how often the race occurred.
std::string trials_of(const model::Finding& finding, const model::TrialCount& count,
                      bool observed) {
  for (const Evidence& evidence : finding.evidence)
    if (count.trials == 0 && evidence.trial && evidence.trial->confirmer == kScheduler &&
        !evidence.why.empty())
      return sentence("not tried: " + clean(evidence.why));
  if (count.trials == 0) return {};
  const std::string strategies = clean_name(
      join(std::vector<std::string>(count.strategies.begin(), count.strategies.end()), ", "));
  std::string text =
      "Tried " + plural(count.trials, "time") + " under the scheduler (" + strategies + ")";
  if (count.races > 0) {
    const model::Share share = model::share_of(count.races, count.trials);
    text += "; the threads met in " + with_thousands(count.races) + ", " +
            with_thousands(count.primary) + " with the first access first and " +
            with_thousands(count.alternate) + " the other way round: probability " +
            decimal(share.estimate) + " (" + decimal(share.low) + " to " + decimal(share.high) +
            " with 95% confidence)";
  } else {
    text = "The scheduler did not make it happen in " + plural(count.trials, "trial") + " (" +
           strategies + "): the threads never met at the two accesses, which says nothing about " +
           "other schedules";
    if (observed) text += " and takes nothing from what was observed";
  }
  std::vector<std::string> rest;
  const auto add = [&](uint64_t value, const char* what) {
    if (value > 0) rest.push_back(with_thousands(value) + " " + what);
  };
  add(count.timeouts, "timed out");
  add(count.deadlocks, "ended in a deadlock");
  add(count.diverged, "went out of control");
  if (!rest.empty()) text += "; " + join(rest, ", ");
  return text + ".";
}

std::string sureness_of(const Entry& entry, const Evidence* example) {
  const model::Verdict& verdict = entry.verdict;
  const std::string by = entry.finding.candidate.found_by.empty()
                             ? std::string("an earlier run")
                             : clean_name(join(entry.finding.candidate.found_by, ", "));
  if (verdict.state == VerdictState::kTrueRace) {
    const bool failure = entry.finding.candidate.kind == model::CandidateKind::kFailure;
    std::string text = std::string(basis_word(verdict.basis)) + ": ";
    text += failure ? "the program failed under the scheduler as no undisturbed run did"
                    : proof_sentence(proof_of(entry, example));
    text += " (found by " + by;
    if (verdict.executions > 0) text += "; seen in " + plural(verdict.executions, "execution");
    return text + ").";
  }
  if (verdict.state == VerdictState::kLikelyFalsePositive) {
    const std::string reason = validation_of(entry.finding).against;
    std::string text = "Likely a false positive: ";
    text +=
        reason.empty() ? plural(verdict.no_races, "trial") + " found the accesses ordered" : reason;
    if (verdict.executions > 0)
      text += (reason.empty() ? " in " : "; of ") + plural(verdict.executions, "execution");
    if (verdict.confidence > 0)
      text += "; with 95% confidence at least " + percent(verdict.confidence) +
              " of further executions would show no race";
    return text + ".";
  }
  if (example != nullptr && example->proof == Proof::kPartialHappensBefore)
    return "Candidate: unordered by the happens-before that was seen; " + unseen_code(*example) +
           " ran nearby, was not instrumented and may have ordered the accesses (found by " + by +
           ").";
  if (example != nullptr && example->proof == Proof::kCollision)
    return "Seen: " + proof_sentence(example->proof) +
           (entry.half_atomic()
                ? "; one is atomic by its instruction, so most likely the other is, too (found by "
                : "; whether both are plain in the source cannot be told from the instructions "
                  "(found by ") +
           by + ").";
  std::string text = "Candidate: predicted by " + by + ", in no execution observed yet";
  const bool tried = model::count_trials(entry.finding, kScheduler).trials > 0;
  if (verdict.timeouts > 0 && !tried)
    text += " (" + plural(verdict.timeouts, "trial") + " timed out)";
  return text + ".";
}

std::string dependence_of(const Entry& entry, const Evidence* example) {
  if (example == nullptr || example->proof != Proof::kHappensBefore ||
      entry.verdict.state != VerdictState::kTrueRace)
    return {};
  switch (example->schedulable) {
    case Schedulable::kYes:
      return "Schedulable: the two accesses can happen right next to each other, whatever other "
             "races exist.";
    case Schedulable::kNo:
      return "Not schedulable as observed: it may only be an artefact of an earlier race; fix the "
             "earlier one first and "
             "look again.";
    case Schedulable::kUnknown:
    case Schedulable::kCount:
      break;
  }
  return "Schedulable: unknown, since the order of plain accesses was not recorded; it may depend "
         "on an earlier race.";
}

// Which order causes failures, and how often.
std::string failures_of(const model::TrialCount& count) {
  if (count.harmful() == 0) return {};
  return " So ended " + with_thousands(count.harmful_primary) + " of " +
         plural(count.primary, "trial") + " with the first access first, and " +
         with_thousands(count.harmful_alternate) + " of " + with_thousands(count.alternate) +
         " the other way round.";
}

// "between rename() by mv and open() by sed": between processes the object is named once.
std::string sides_of_calls(const model::Candidate& candidate) {
  std::string text;
  for (size_t i = 0; i < candidate.roles.size(); ++i) {
    const model::Site& site = candidate.roles[i].site;
    text += i == 0 ? " between " : i + 1 == candidate.roles.size() ? " and " : ", ";
    text += clip(clean_name(site.syscall), kTitleName) + "() by " +
            clip(clean_name(base_name(site.program)), kTitleName);
  }
  return text;
}

constexpr size_t kMostBroken = 12;

// Every difference in kind and detail, once each.
std::vector<std::string> broken_of(const Evidence& example) {
  std::vector<std::string> out;
  for (const model::Consequence& one : example.differences) {
    if (out.size() == kMostBroken) {
      out.push_back("and " + plural(example.differences.size() - kMostBroken, "more difference"));
      break;
    }
    std::string text = clean_name(one.detail);
    if (text.empty()) text = std::string(consequence_word(one.kind));
    text = sentence(std::move(text));
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

std::string consequence_sentence(const model::Consequence& consequence) {
  std::string text = sentence(std::string(consequence_word(consequence.kind)));
  text.pop_back();
  return consequence.detail.empty() ? text + "."
                                    : text + ": " + ended(clean_name(consequence.detail));
}

std::string effect_of(const Entry& entry) {
  const model::Consequence& consequence = entry.verdict.consequence;
  const model::Consequence& once = entry.verdict.seen_once;
  if (consequence.kind != model::ConsequenceKind::kNone)
    return consequence_sentence(consequence) +
           (entry.places.size() == 2 ? failures_of(model::count_trials(entry.finding, kScheduler))
                                     : "") +
           (once.kind == model::ConsequenceKind::kNone
                ? ""
                : " Seen once, not repeated: " + consequence_sentence(once));
  if (once.kind != model::ConsequenceKind::kNone)
    return "Seen once, not repeated, so no harm is said of it: " + consequence_sentence(once);
  const model::TrialCount count = model::count_trials(entry.finding, kScheduler);
  if (entry.verdict.state == VerdictState::kUnknown)
    return "Not known: it has not been made to happen yet.";
  if (entry.verdict.state == VerdictState::kLikelyFalsePositive)
    return "Probably nothing, since it is probably no race.";
  if (count.races > 0)
    return "No failure was seen: " + plural(count.primary, "trial") +
           " with the first access first, " + with_thousands(count.alternate) +
           " the other way round, against undisturbed runs and a serial one" +
           (entry.kind == model::CandidateKind::kDataRace
                ? "; the behaviour is undefined by the language."
                : ".");
  if (entry.kind == model::CandidateKind::kDataRace)
    return "No failure was seen; the behaviour is undefined by the language.";
  return "No failure was seen so far.";
}

}  // namespace

std::string plural(uint64_t count, const std::string& noun) {
  return with_thousands(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string title_of(const model::Candidate& candidate, model::CandidateKind shown,
                     const Evidence* example) {
  if (candidate.kind == model::CandidateKind::kFailure)
    return clip(clean_name(model::title(candidate)), 2 * kTitleName);
  std::string title(kind_title(shown));
  const std::string what = subject(candidate, example);
  if (!what.empty()) title += " on " + clip(clean_name(what), kTitleName);
  const bool calls =
      std::all_of(candidate.roles.begin(), candidate.roles.end(), [&](const model::Role& role) {
        return role.site.kind == model::SiteKind::kSyscall && !role.site.syscall.empty() &&
               !role.site.program.empty() && role.site.object == candidate.roles[0].site.object;
      });
  if (calls) return title + sides_of_calls(candidate);
  std::vector<std::string> sides;
  for (const model::Role& role : candidate.roles)
    sides.push_back(std::string(access_word(role.access)) + " at " +
                    clip(clean_name(stable_place(role.site)), kTitleName));
  // Finders encounter the two sides in either order, but the title must not depend on that.
  if (candidate.kind <= model::CandidateKind::kCollision)
    std::sort(sides.begin(), sides.end(), std::greater<>());
  for (size_t i = 0; i < sides.size(); ++i)
    title += (i == 0 ? " between " : i + 1 == sides.size() ? " and " : ", ") + sides[i];
  return title;
}

void phrase_facts(Entry& entry, const Evidence* example) {
  const bool failure = entry.finding.candidate.kind == model::CandidateKind::kFailure;
  if (!failure) entry.locks = locks_sentence(entry.places);
  for (const Place& place : entry.places)
    if (entry.memory.empty() && !place.location_origin.empty())
      entry.memory = sentence(place.location + ": " + place.location_origin);
  if (failure) {
    entry.why = example == nullptr || example->why.empty()
                    ? "Undisturbed runs do not fail so, and no race that is known explains it."
                    : sentence(clip(clean(example->why), 1000));
  } else if (entry.finding.candidate.kind == model::CandidateKind::kOrder) {
    entry.why = "Either may come first; no data race, but what the program does may depend on it.";
  } else if (example != nullptr && !example->why.empty()) {
    entry.why = sentence(clip(clean(example->why), 1000));
  } else if (entry.ordered) {
    entry.why = "In the shown execution a happens-before edge ordered the accesses.";
  } else if (entry.verdict.state != VerdictState::kTrueRace) {
    entry.why = "Nothing is known to order the accesses.";
  } else {
    entry.why = "Nothing orders the accesses: there is no happens-before path between them.";
  }
  entry.sureness = sureness_of(entry, example);
  const std::string trials =
      trials_of(entry.finding, model::count_trials(entry.finding, kScheduler),
                entry.verdict.basis == model::Basis::kObserved);
  if (!trials.empty() && !failure) entry.sureness += " " + trials;
  const Validation validation = validation_of(entry.finding);
  const bool said =
      entry.verdict.state == VerdictState::kLikelyFalsePositive && !validation.against.empty();
  if (!validation.trials.empty() && !said) entry.sureness += " " + validation.trials;
  entry.dependence = dependence_of(entry, example);
  entry.effect = effect_of(entry);
  if (example != nullptr) entry.broken = broken_of(*example);
  const auto look = [&](const auto& one) {
    if (entry.repeat.empty()) entry.repeat = clip(clean(one.repeat), 1000);
  };
  for (const Evidence& evidence : entry.finding.evidence) look(evidence);
  for (const model::Suspicion& suspicion : entry.finding.suspicions) look(suspicion);
  if (example != nullptr && !example->repeat.empty())
    entry.repeat = clip(clean(example->repeat), 1000);
  entry.silence = clean(suggest_suppression(entry.finding));
}

}  // namespace deadheat::report
