#include "lib/model/json_versions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "lib/base/text.h"

namespace deadheat::model {
namespace {

// Version 1 did not record how many runs a piece of evidence summarizes. Thread trials have one
// entry each. For an order of processes that failed, the campaign ran it again and wrote one entry
// for both.
void count_repetitions(Evidence& e) {
  if (e.proof == Proof::kFailedBranch && e.trial && e.trial->confirmer == "branch")
    e.repetitions = 2;
}

// Version 2 stored what a replay needs as text: "seed 17 strategy pct depth 3", the name of the
// execution ("confirm:CAMPAIGN/CANDIDATE/SEED"), a folder. The reader put that text into `branch`.
void read_schedule(std::string_view text, Reproducer& out) {
  const std::vector<std::string_view> words = split(text, ' ');
  const auto number = [](std::string_view word) {
    uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "seed") {
      out.seed = number(words[i + 1]);
      out.kind = ReproducerKind::kSeed;
    }
    if (words[i] == "strategy") out.strategy = words[i + 1];
    if (words[i] == "depth") out.depth = number(words[i + 1]);
    if (words[i] == "length") out.length = number(words[i + 1]);
    if (words[i] == "spins") out.spins = number(words[i + 1]) != 0;
  }
}

void type_reproducer(Evidence& e) {
  constexpr std::string_view kConfirm = "confirm:";
  Reproducer& out = e.trial->reproducer;
  if (e.trial->confirmer == "branch") {
    out.kind = out.branch.empty() ? ReproducerKind::kNone : ReproducerKind::kBranch;
    return;
  }
  const std::string text = std::exchange(out.branch, {});
  if (e.trial->confirmer == "validate") {
    out.kind = ReproducerKind::kValidation;
    out.campaign = e.execution.substr(0, e.execution.find('/'));
    return;
  }
  read_schedule(text, out);
  if (!e.execution.starts_with(kConfirm)) return;
  const auto parts = split(std::string_view(e.execution).substr(kConfirm.size()), '/');
  if (parts.size() < 2) return;
  out.campaign = parts[0];
  out.candidate = parts[1];
}

// Earlier versions stored predictions as outcomes, although nothing had been observed.
bool is_prediction(const Evidence& e) {
  constexpr std::array<std::string_view, 3> kFinders = {"hybrid", "orders", "scan"};
  return e.outcome == Outcome::kNotSeen && !e.trial && e.withdraws.empty() &&
         std::any_of(kFinders.begin(), kFinders.end(),
                     [&](std::string_view finder) { return e.source.starts_with(finder); });
}

Suspicion to_suspicion(Evidence&& e) {
  return {std::move(e.id),       std::move(e.source), std::move(e.execution), std::move(e.why),
          std::move(e.accesses), std::move(e.steps),  e.schedulable,          std::move(e.repeat)};
}

void separate_suspicions(Finding& finding) {
  std::vector<Evidence> kept;
  for (Evidence& e : finding.evidence) {
    if (is_prediction(e)) {
      finding.suspicions.push_back(to_suspicion(std::move(e)));
    } else {
      kept.push_back(std::move(e));
    }
  }
  finding.evidence = std::move(kept);
}

// In earlier versions the candidate's kind said whether a collision proves a race.
void type_collisions(Finding& finding) {
  if (finding.candidate.kind != CandidateKind::kDataRace) return;
  for (Evidence& e : finding.evidence)
    if (e.proof == Proof::kCollision && e.ordered == Ordered::kUnknown) e.ordered = Ordered::kNo;
}

// Splits "schedule pct 3f9a21c4d2e0b177", and finds the target among the arguments.
void type_origin(Origin& origin) {
  const std::vector<std::string_view> words = split(origin.engine, ' ');
  if (words.size() != 3 || words[0] != "schedule") return;
  origin.strategy = words[1];
  origin.campaign = words[2];
  origin.engine = "schedule";
  const auto& arguments = origin.arguments;
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  if (end != arguments.end()) origin.target.program.assign(end + 1, arguments.end());
  for (auto word = arguments.begin(); end - word >= 2; word += 2) {
    if (*word == "--directory") origin.target.directory = word[1];
    if (*word == "--input") origin.target.input = word[1];
    if (*word == "--checker") origin.target.checker = word[1];
  }
}

}  // namespace

void bring_up_to_date(FindingsFile& file, uint64_t version) {
  for (Finding& finding : file.findings) {
    if (version < 2)
      for (Evidence& e : finding.evidence) count_repetitions(e);
    if (version < 3) {
      for (Evidence& e : finding.evidence)
        if (e.trial) type_reproducer(e);
      separate_suspicions(finding);
      type_collisions(finding);
    }
    // Since version 3 this kind is derived, not stored: see shown_kind().
    if (finding.candidate.kind == CandidateKind::kCollision)
      finding.candidate.kind = CandidateKind::kDataRace;
  }
  if (version < 3)
    for (Origin& origin : file.origins) type_origin(origin);
}

}  // namespace deadheat::model
