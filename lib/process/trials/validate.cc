#include "lib/process/trials/validate.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/enum_names.h"
#include "lib/process/races/tighter_race.h"
#include "lib/process/trials/campaign.h"

namespace deadheat::process::trials {
namespace {

namespace fs = std::filesystem;

// What results depend on, besides the branch.
std::string key_of(const ValidateOptions& options, int depth) {
  std::string text = options.tool + "\n" + std::to_string(options.undisturbed) + "\n" +
                     std::to_string(options.timeout_s) + "\n" + std::to_string(depth) + "\n";
  text += join(options.checkers.after, "\n") + "\n\n" + join(options.checkers.beside, "\n");
  return hex(stable_hash(text));
}

// The same in every execution of the program: program, call and object of each side.
std::string identity_of(const BranchResult& result, model::CandidateKind kind) {
  return std::string(model::name(kind)) + " " + result.object + " " + join(result.calls, " ");
}

confirm::EngineOptions engine_options(const ValidateOptions& options) {
  confirm::EngineOptions how;
  how.time = options.time;
  how.stopped = options.stopped;
  how.slots = options.jobs > 0 ? static_cast<size_t>(options.jobs) : 0;
  how.progress = options.progress;
  return how;
}

class Validator {
 public:
  Validator(const ValidateOptions& options, Validation& out)
      : options_(options),
        out_(out),
        engine_(engine_options(options)),
        timeout_s_(options.timeout_s) {}

  Status explore(const LookedAt& looked, size_t after, int level);

 private:
  std::vector<size_t> add_branches(const LookedAt& looked, size_t after);
  bool is_new_order(const BranchResult& result, model::CandidateKind kind, size_t after);
  Status runs_as_recorded(const Target& target) const;
  void explain(const LookedAt& looked, const std::vector<size_t>& results);
  Status go_deeper(size_t result, int level);

  const ValidateOptions& options_;
  Validation& out_;
  confirm::Engine engine_;
  confirm::Progress counted_;
  double timeout_s_;                     // of one run
  std::vector<std::string> identities_;  // by result
  std::set<std::string> first_, tried_;  // identities of level 1; of all that were flipped together
};

// Two flips are the same pair in whichever order they were found.
bool Validator::is_new_order(const BranchResult& result, model::CandidateKind kind, size_t after) {
  std::vector<std::string> flips = {identity_of(result, kind)};
  for (size_t at = after; at != kNoResult; at = out_.results[at].after)
    flips.push_back(identities_[at]);
  std::sort(flips.begin(), flips.end());
  return tried_.insert(join(flips, "\n")).second || after == kNoResult;
}

// At level 1 all races; deeper, those of the live part, with races new to the recording first.
std::vector<size_t> Validator::add_branches(const LookedAt& looked, size_t after) {
  const effects::Model& model = *looked.model;
  std::vector<BranchResult> known;
  std::vector<size_t> added;
  const auto add = [&](BranchResult result) {
    if (options_.most_branches > 0 && out_.results.size() == options_.most_branches) {
      out_.left_out++;
      return;
    }
    added.push_back(out_.results.size());
    identities_.push_back(identity_of(result, looked.races.races[result.branch.race].kind));
    out_.results.push_back(std::move(result));
  };
  for (uint32_t race = 0; race < looked.races.races.size(); race++) {
    const races::ProcessRace& one = looked.races.races[race];
    const uint64_t live_from = after == kNoResult ? 0 : out_.results[after].live_from;
    const bool live = std::all_of(one.anchors.begin(), one.anchors.end(), [&](uint32_t anchor) {
      return looked.recording.events()[model.nodes[anchor].event].head().begin > live_from;
    });
    if (!live) continue;
    BranchResult result;
    result.of = &looked;
    result.after = after;
    result.object = model.objects[one.object].name;
    for (const uint32_t anchor : one.anchors)
      result.calls.push_back(effects::describe_node(model, looked.recording, anchor));
    if (!is_new_order(result, one.kind, after)) continue;
    const bool seen_before = !first_.insert(identity_of(result, one.kind)).second;
    for (races::Branch& branch : races::make_branches(model, *looked.graph, one, race)) {
      result.branch = std::move(branch);
      if (after != kNoResult && seen_before)
        known.push_back(result);
      else
        add(result);
    }
  }
  for (BranchResult& result : known) add(std::move(result));
  return added;
}

// Orders run with another machine's files say nothing.
Status Validator::runs_as_recorded(const Target& target) const {
  const References& references = out_.references;
  if (target.checkpoint.changed.empty() || references.undisturbed == 0 ||
      references.failed_undisturbed < references.undisturbed)
    return Ok{};
  return Error{problems_of(target.checkpoint).front() + ", and the command fails in all of " +
                   std::to_string(references.undisturbed) + " undisturbed runs",
               "record it again here; the recording does not hold those files"};
}

void Validator::explain(const LookedAt& looked, const std::vector<size_t>& results) {
  std::set<uint32_t> happened;
  for (const size_t index : results) {
    const BranchResult& result = out_.results[index];
    if (result.ran && result.outcome == model::Outcome::kRace) happened.insert(result.branch.race);
  }
  for (const size_t index : results) {
    BranchResult& result = out_.results[index];
    if (!result.ran || result.compared || result.outcome == model::Outcome::kRace) continue;
    const auto tighter =
        races::tighter_race(*looked.graph, looked.races, result.branch,
                            [&](uint32_t race) { return happened.contains(race); });
    if (!tighter) continue;
    const races::ProcessRace& race = looked.races.races[*tighter];
    result.why += std::string(result.outcome == model::Outcome::kDivergedInfeasible
                                  ? "; race "
                                  : "; it may be that race ") +
                  std::to_string(*tighter + 1) + " on " + looked.model->objects[race.object].name +
                  " explains it: " +
                  effects::describe_node(*looked.model, looked.recording, race.anchors[1]) +
                  " would have to come before " +
                  effects::describe_node(*looked.model, looked.recording, race.anchors[0]);
  }
}

Status Validator::go_deeper(size_t index, int level) {
  const std::string folder = out_.results[index].folder;
  std::error_code failed;
  if (folder.empty() || !fs::exists(folder, failed)) return Ok{};  // examined in the last campaign
  if (engine_.over()) {
    out_.not_looked++;
    return Ok{};
  }
  auto looked = look_for_races(folder + "/recording", options_.all);
  if (!looked) return looked.error();
  auto deeper = std::make_unique<LookedAt>(std::move(*looked));
  const size_t from = out_.results.size();
  const Status explored = explore(*deeper, index, level + 1);
  if (!explored) return explored;
  const auto begin = out_.results.begin() + static_cast<std::ptrdiff_t>(from);
  const bool harmful = std::any_of(begin, out_.results.end(), [](const BranchResult& result) {
    return result.ran && result.harmful();
  });
  const bool complete =
      std::all_of(begin, out_.results.end(), [](const BranchResult& result) { return result.ran; });
  if (harmful) {
    out_.deeper.push_back(std::move(deeper));
    return Ok{};
  }
  for (auto result = begin; result != out_.results.end(); ++result)
    if (result->of == deeper.get()) result->of = nullptr;
  if (!complete) return Ok{};  // the next campaign continues from there
  fs::remove_all(folder, failed);
  out_.results[index].folder.clear();
  return Ok{};
}

Status Validator::explore(const LookedAt& looked, size_t after, int level) {
  const std::string work = looked.recording.folder() + "/branches";
  std::error_code failed;
  if (options_.restart && level == 1) fs::remove_all(work, failed);
  // With a checker beside it, a server ends when the checker does.
  const bool cut_off = looked.recording.info().timed_out && options_.checkers.beside.empty();
  if (level == 1 && cut_off)
    timeout_s_ = timeout_of_cut_off(looked.recording, options_.timeout_s, options_.time.left_s());
  auto target = make_target(looked.recording, *looked.model, options_.sandbox, timeout_s_);
  if (!target) return target.error();
  target->beside = options_.checkers.beside;
  auto kept = KeptResults::open(work, key_of(options_, options_.depth));
  if (!kept) return kept.error();
  const std::vector<size_t> added = add_branches(looked, after);
  Campaign campaign(*target, work, options_, engine_, counted_, out_, *kept);
  if (level == 1) {
    out_.problems = problems_of(target->checkpoint);
    for (std::string& line : recording::missing_guarantees(looked.recording.info()))
      out_.problems.push_back(std::move(line));
    if (const Status run = campaign.run_references(key_of(options_, 0)); !run) return run;
    if (const Status same = runs_as_recorded(*target); !same) return same;
  } else if (const Status copied =
                 write_file(work + "/reference.json", to_json(out_.references), 0600);
             !copied) {
    return copied;
  }
  if (const Status run = campaign.run_branches(added); !run) return run;
  explain(looked, added);
  if (level >= options_.depth) return Ok{};
  for (const size_t index : added) {
    const BranchResult& result = out_.results[index];
    if (!result.ran || !result.benign()) continue;
    if (const Status deeper = go_deeper(index, level); !deeper) return deeper;
  }
  return Ok{};
}

}  // namespace

Result<Validation> validate(const LookedAt& looked, const ValidateOptions& options) {
  Validation out;
  Validator validator(options, out);
  if (const Status explored = validator.explore(looked, kNoResult, 1); !explored)
    return explored.error();
  out.drawn = DrawnNames(looked.recording, *looked.model, out.references.made);
  out.stopped = options.stopped && options.stopped();
  out.problems.insert(out.problems.end(), out.references.problems.begin(),
                      out.references.problems.end());
  return out;
}

}  // namespace deadheat::process::trials
