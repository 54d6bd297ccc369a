#include "lib/report/report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "lib/base/text.h"
#include "lib/model/finding_set.h"
#include "lib/model/identity.h"
#include "lib/report/clean_text.h"
#include "lib/report/example.h"
#include "lib/report/facts.h"
#include "lib/report/names.h"
#include "lib/report/place.h"
#include "lib/report/story.h"

namespace deadheat::report {
namespace {

Rank rank_of(const model::Verdict& verdict) {
  if (verdict.state == model::VerdictState::kLikelyFalsePositive) return Rank::kLikelyFalsePositive;
  if (verdict.state != model::VerdictState::kTrueRace || verdict.basis < model::Basis::kObserved)
    return Rank::kCandidate;
  if (verdict.consequence.kind != model::ConsequenceKind::kNone) return Rank::kHarmful;
  return verdict.basis == model::Basis::kMadeToHappen ? Rank::kMadeToHappen : Rank::kObserved;
}

bool is_tolerated(Rank rank, FailOn fail_on) {
  switch (fail_on) {
    case FailOn::kCandidate:
      return false;
    case FailOn::kRace:
      return rank >= Rank::kCandidate;
    case FailOn::kHarm:
      return rank > Rank::kHarmful;
  }
  return false;
}

Entry make_entry(model::Finding finding, PlaceMaker& places) {
  Entry entry;
  entry.finding = std::move(finding);
  entry.verdict = model::fold(entry.finding);
  entry.rank = rank_of(entry.verdict);
  entry.id = clean_name(model::display_id(entry.finding.candidate));
  entry.kind = model::shown_kind(entry.finding, entry.verdict);
  Example shown;
  const model::Evidence* example = shown.find(entry.finding);
  entry.title = title_of(entry.finding.candidate, entry.kind, example);
  entry.ordered = example != nullptr && example->ordered == model::Ordered::kYes;
  entry.scheduled = example != nullptr && example->trial && !example->steps.empty();
  entry.swapped = example != nullptr && example->order == model::Order::kAlternate;
  entry.places = places.places(entry.finding.candidate, example);
  if (example != nullptr) {
    entry.steps = places.steps(entry.finding.candidate, *example);
    entry.recorded = shown_story(example->recorded);
    entry.failed = shown_story(example->failed);
    align_processes(entry.failed, entry.recorded);
  }
  phrase_facts(entry, example);
  return entry;
}

bool is_harmless_order(const model::Finding& finding, const model::Verdict& verdict) {
  return finding.candidate.kind >= model::CandidateKind::kLoadStore &&
         finding.candidate.kind <= model::CandidateKind::kWakeupWaits &&
         !finding.evidence.empty() && verdict.state != model::VerdictState::kTrueRace &&
         verdict.seen_once.kind == model::ConsequenceKind::kNone;
}

// Looks up candidates in a baseline: by exact key and display id first, which finds nearly all; the
// rest one by one.
class Baseline {
 public:
  explicit Baseline(const model::FindingsFile& file)
      : file_(file), seen_(file.findings.size(), false) {
    for (size_t i = 0; i < file.findings.size(); ++i) {
      if (is_harmless_order(file.findings[i], model::fold(file.findings[i]))) {
        harmless_.insert(i);  // later harm to it is new
        continue;
      }
      by_key_[model::display_id(file.findings[i].candidate)].push_back(i);
      const std::string exact = model::exact_key(file.findings[i].candidate);
      if (!exact.empty()) by_key_[exact].push_back(i);
    }
  }

  Novelty find(const model::Candidate& candidate) {
    model::Match best = model::Match::kDifferent;
    for (const std::string& key : {model::exact_key(candidate), model::display_id(candidate)}) {
      const auto found = by_key_.find(key);
      if (key.empty() || found == by_key_.end()) continue;
      for (const size_t i : found->second) best = std::max(best, compare(candidate, i));
    }
    for (size_t i = 0; i < seen_.size() && best == model::Match::kDifferent; ++i)
      if (!harmless_.contains(i)) best = compare(candidate, i);
    if (best == model::Match::kSame) return Novelty::kKnown;
    return best == model::Match::kLikely ? Novelty::kLikelyKnown : Novelty::kNew;
  }

  std::vector<model::Finding> unseen() const {
    std::vector<model::Finding> findings;
    for (size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i] && !harmless_.contains(i)) findings.push_back(file_.findings[i]);
    return findings;
  }

 private:
  model::Match compare(const model::Candidate& candidate, size_t i) {
    const model::Match match = model::match(candidate, file_.findings[i].candidate);
    if (match != model::Match::kDifferent) seen_[i] = true;
    return match;
  }

  const model::FindingsFile& file_;
  std::vector<bool> seen_;
  std::set<size_t> harmless_;
  std::unordered_map<std::string, std::vector<size_t>> by_key_;
};

void suppress(Report& report, const ReportOptions& options) {
  const auto& all = options.suppressions.entries;
  std::vector<bool> used(all.size(), false);
  for (Entry& entry : report.entries) {
    for (size_t i = 0; i < all.size(); ++i) {
      // Every matching line counts as used, not only the first: deleting one must not revive the
      // finding.
      if (!matches(all[i], entry.finding)) continue;
      used[i] = true;
      if (entry.suppressed || expired(all[i], options.today)) continue;
      entry.suppressed = true;
      entry.suppressed_by = clean_name(all[i].file) + ":" + std::to_string(all[i].line);
      entry.suppression_reason = all[i].reason;
    }
  }
  for (const SuppressionProblem& problem : options.suppressions.problems)
    report.notices.push_back({Notice::Kind::kSuppression, "bad-suppression",
                              clean_name(problem.file) + ":" + std::to_string(problem.line) + ": " +
                                  problem.message +
                                  (problem.hint.empty() ? "" : " (" + problem.hint + ")")});
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string at = clean_name(all[i].file) + ":" + std::to_string(all[i].line) + ": ";
    if (expired(all[i], options.today)) {
      report.notices.push_back(
          {Notice::Kind::kSuppression, "expired-suppression",
           at + "suppression expired on " + to_string(*all[i].until) + ": " + all[i].text});
    } else if (!used[i] && can_match(all[i].kind)) {
      report.notices.push_back({Notice::Kind::kSuppression, "unused-suppression",
                                at + "suppression matched nothing: " + all[i].text});
    }
  }
}

// "1 order was not tried" from "orders were not tried": counters use the plural.
std::string counted(uint64_t count, std::string meaning) {
  const size_t noun = meaning.find(' ');
  if (count == 1 && noun != std::string::npos && noun > 3 && meaning[noun - 1] == 's') {
    const std::string_view word = std::string_view(meaning).substr(0, noun);
    const bool longer = word.ends_with("sses") || word.ends_with("ches");
    if (meaning.substr(noun).starts_with(" were ")) meaning.replace(noun, 6, " was ");
    meaning.erase(noun - (longer ? 2 : 1), longer ? 2 : 1);
  }
  return with_thousands(count) + " " + meaning;
}

void note_untried(const Counter& counter, Report& report) {
  const auto known =
      std::find_if(report.untried.begin(), report.untried.end(),
                   [&](const Untried& one) { return one.code == clean_name(counter.name); });
  Untried& one = known != report.untried.end() ? *known : report.untried.emplace_back();
  one.code = clean_name(counter.name);
  one.count += counter.value;
  const std::string meaning = counter.meaning.empty() ? counter.name : counter.meaning;
  one.text = counted(one.count, clip(clean(meaning), 1000));
}

void note_origins(Report& report) {
  // Several runs over one input count its events once each; sums are correct for distinct inputs,
  // which is the purpose of merging.
  std::map<std::string, Notice> losses;
  std::map<std::string, uint64_t> values;
  std::vector<Notice> damage;
  for (const model::Origin& origin : report.origins) {
    for (const Counter& counter : origin.counters) {
      if (counter.is_untried && counter.value > 0) {
        note_untried(counter, report);
      } else if (counter.is_loss && counter.value > 0) {
        values[counter.name] += counter.value;
        const std::string meaning = counter.meaning.empty() ? counter.name : counter.meaning;
        losses[counter.name] = {Notice::Kind::kLoss, clean_name(counter.name),
                                counted(values[counter.name], clip(clean(meaning), 1000))};
      }
      if (counter.name == "events_read") report.summary.events += counter.value;
      if (counter.name == "threads")
        report.summary.threads = std::max(report.summary.threads, counter.value);
    }
    for (const std::string& problem : origin.problems)
      damage.push_back({Notice::Kind::kDamage, "damaged-input",
                        (origin.input.empty() ? "" : clean_name(origin.input) + ": ") +
                            clip(clean(problem), 1000)});
  }
  for (auto& [name, notice] : losses) report.notices.push_back(std::move(notice));
  report.notices.insert(report.notices.end(), damage.begin(), damage.end());
}

bool is_failure(const Entry& entry) {
  return entry.finding.candidate.kind == model::CandidateKind::kFailure;
}

bool is_certain_race(const Entry& entry) {
  return !entry.suppressed && entry.novelty == Novelty::kNew && entry.rank < Rank::kCandidate &&
         !is_failure(entry);
}

bool ranked_before(const Entry& a, const Entry& b) {
  const auto key = [](const Entry& entry) {
    return std::tuple(entry.suppressed, entry.novelty != Novelty::kNew, entry.rank,
                      entry.half_atomic(), -static_cast<int>(entry.verdict.consequence.kind),
                      -static_cast<int64_t>(entry.verdict.races), entry.only_suspected());
  };
  if (key(a) != key(b)) return key(a) < key(b);
  if (a.only_suspected()) return a.number < b.number;  // a finder lists the most likely first
  if (a.title != b.title || a.id != b.id) return std::tie(a.title, a.id) < std::tie(b.title, b.id);
  const auto lines = [](const Entry& entry) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (const Place& place : entry.places) out.emplace_back(place.line, place.column);
    return out;
  };
  return lines(a) < lines(b);
}

// Two races between the same statements of the same functions share a display id, but a report must
// not list one id twice.
void tell_twins_apart(std::vector<Entry>& entries) {
  std::map<std::string, int> seen;
  for (Entry& entry : entries) {
    const int number = ++seen[entry.id];
    if (number > 1) entry.id += "-" + std::to_string(number);
  }
}

void summarise(Report& report) {
  Summary& summary = report.summary;
  for (const Entry& entry : report.entries) {
    if (entry.suppressed) {
      ++summary.suppressed;
    } else if (entry.novelty != Novelty::kNew) {
      ++summary.known;
    } else {
      ++summary.fresh;
      if (entry.rank == Rank::kHarmful) ++summary.harmful;
      if (entry.rank == Rank::kMadeToHappen) ++summary.made_to_happen;
      if (entry.rank == Rank::kObserved) ++summary.observed;
      if (entry.rank == Rank::kCandidate) ++summary.candidates;
      if (entry.rank == Rank::kLikelyFalsePositive) ++summary.likely_false;
      if (is_failure(entry)) ++summary.failures;
    }
    if (entry.fails()) ++summary.failing;
  }
  summary.fixed = report.fixed.size();
}

}  // namespace

bool Entry::only_suspected() const {
  return rank == Rank::kCandidate && finding.evidence.empty() && !finding.suspicions.empty();
}

bool Entry::half_atomic() const {
  const std::vector<model::Role>& roles = finding.candidate.roles;
  return kind == model::CandidateKind::kCollision && rank == Rank::kCandidate &&
         std::any_of(roles.begin(), roles.end(),
                     [](const model::Role& role) { return model::is_atomic(role.access); });
}

bool Entry::fails() const {
  return !suppressed && !tolerated && novelty == Novelty::kNew &&
         rank != Rank::kLikelyFalsePositive;
}

Report build_report(model::FindingsFile file, const ReportOptions& options) {
  Report report;
  report.origins = std::move(file.origins);
  report.has_baseline = options.baseline != nullptr;
  model::FindingsFile unique;
  if (options.unique) {
    unique.findings = std::move(file.findings);
  } else {
    model::FindingSet set(unique);
    for (model::Finding& finding : file.findings) set.add(std::move(finding));
  }
  PlaceMaker places(options);
  report.entries.reserve(unique.findings.size());
  for (model::Finding& finding : unique.findings) {
    Entry entry = make_entry(std::move(finding), places);
    entry.number = report.entries.size() + report.harmless.size();
    auto& list = is_harmless_order(entry.finding, entry.verdict) ? report.harmless : report.entries;
    list.push_back(std::move(entry));
  }
  unique = {};
  for (Entry& entry : report.entries) entry.tolerated = is_tolerated(entry.rank, options.fail_on);
  if (options.baseline != nullptr) {
    Baseline baseline(*options.baseline);
    for (Entry& entry : report.entries) entry.novelty = baseline.find(entry.finding.candidate);
    for (model::Finding& finding : baseline.unseen()) {
      report.fixed.push_back(make_entry(std::move(finding), places));
      report.fixed.back().number = report.fixed.size();
    }
  }
  note_origins(report);
  report.fails_incomplete = options.fail_on_incomplete && !report.untried.empty();
  suppress(report, options);
  std::sort(report.entries.begin(), report.entries.end(), ranked_before);
  std::sort(report.fixed.begin(), report.fixed.end(), ranked_before);
  tell_twins_apart(report.entries);
  tell_twins_apart(report.fixed);
  summarise(report);
  return report;
}

std::string verdict_words(const Report& report) {
  const Summary& summary = report.summary;
  const std::string fresh = report.has_baseline ? "new " : "";
  if (summary.fresh == 0)
    return "No " + fresh + "races found" + (report.untried.empty() ? "" : " so far");
  const uint64_t races = summary.fresh - summary.failures;
  const bool certain = std::any_of(report.entries.begin(), report.entries.end(), is_certain_race);
  const std::string failures = plural(summary.failures, fresh + "failure");
  if (races == 0) return failures;
  return plural(races, fresh + (certain ? "race" : "possible race")) +
         (summary.failures == 0 ? "" : " and " + failures);
}

std::string scope_words(const Report& report) {
  std::string scope;
  if (report.summary.events > 0) scope = " in " + plural(report.summary.events, "event");
  if (report.summary.threads > 0)
    scope += (scope.empty() ? " in " : ", ") + plural(report.summary.threads, "thread");
  return scope;
}

std::string incomplete_words(const Report& report) {
  std::vector<std::string> parts;
  for (const Untried& one : report.untried) parts.push_back(one.text);
  return parts.empty() ? "" : "Incomplete: " + join(parts, "; ");
}

std::string summary_words(const Report& report) {
  const Summary& summary = report.summary;
  std::vector<std::string> parts;
  const auto part = [&](uint64_t count, const char* word) {
    if (count > 0) parts.push_back(with_thousands(count) + " " + word);
  };
  part(summary.harmful, "harmful");
  part(summary.made_to_happen, "made to happen");
  part(summary.observed, "observed");
  part(summary.candidates, summary.candidates == 1 ? "candidate" : "candidates");
  part(summary.likely_false, "likely false");
  const std::string counts = parts.empty() ? "" : " (" + join(parts, ", ") + ")";
  parts.clear();
  part(summary.known, "known");
  part(summary.suppressed, "suppressed");
  part(summary.fixed, "no longer seen");
  const std::string rest = parts.empty() ? "" : "; " + join(parts, ", ");
  return verdict_words(report) + counts + scope_words(report) + rest;
}

std::string headline(const Report& report) {
  const std::string incomplete = incomplete_words(report);
  return summary_words(report) + (incomplete.empty() ? "" : ". " + incomplete);
}

}  // namespace deadheat::report
