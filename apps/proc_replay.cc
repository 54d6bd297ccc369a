// deadheat proc replay: a recording, or the failing order of a finding, once more; and whether the
// failure came again.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "apps/proc.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/processors.h"
#include "lib/base/text.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"
#include "lib/process/campaign/comparison.h"
#include "lib/process/campaign/kept_results.h"
#include "lib/process/campaign/processor_claims.h"
#include "lib/process/campaign/references.h"
#include "lib/process/judge/end_state.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/recording_check.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using namespace process;

// The folder of a finding's failing order, from a findings file; the worst where several fit.
Result<std::string> folder_of_finding(const std::string& path, const std::string& id) {
  const auto file = model::read_findings(path);
  if (!file) return file.error();
  const model::Evidence* best = nullptr;
  for (const model::Finding& finding : file.value().findings) {
    if (!id.empty() && model::display_id(finding.candidate) != id) continue;
    for (const model::Evidence& evidence : finding.evidence) {
      if (!evidence.trial || evidence.trial->reproducer.kind != model::ReproducerKind::kBranch)
        continue;
      if (best == nullptr || evidence.consequence.kind > best->consequence.kind) best = &evidence;
    }
  }
  if (best == nullptr)
    return Error{path + " holds no failing order" + (id.empty() ? "" : " of " + id),
                 "deadheat proc validate REC --findings " + path + " makes some"};
  const std::string& folder = best->trial->reproducer.branch;
  std::error_code failed;
  const std::string beside = (fs::path(path).parent_path() / folder).string();
  for (const std::string& there : {folder, beside})
    if (fs::exists(there + "/branch.json", failed)) return there;
  return Error{"the failing order " + folder + " is gone",
               "run it where the report was made, or validate the recording again"};
}

// A folder as it is; "findings.json", "findings.json#DH-12ab34cd" or the two apart.
Result<std::string> folder_of(const ProcArguments& arguments) {
  std::error_code failed;
  std::string path = arguments.recording, id = arguments.finding;
  if (fs::is_directory(path, failed)) {
    if (id.empty()) return path;
    return Error{path + " is a folder; " + id + " names a finding of a findings.json", ""};
  }
  if (const size_t mark = path.rfind('#');
      mark != std::string::npos && id.empty() && !fs::exists(path, failed)) {
    id = path.substr(mark + 1);
    path = path.substr(0, mark);
  }
  if (!fs::exists(path, failed))
    return Error{"there is no recording and no finding " + path,
                 "the report names the folder, or: deadheat proc replay findings.json ID"};
  return folder_of_finding(path, id);
}

struct Finding {
  Branch branch;
  KeptJudgement judgement;
  std::optional<References> references;
};

Result<Finding> read_finding(const std::string& folder, const std::string& recording,
                             const Model& model) {
  auto text = read_file(folder + "/branch.json");
  if (!text) return text.error();
  auto branch = parse_branch(*text, model);
  if (!branch) return branch.error();
  Finding finding;
  finding.branch = std::move(*branch);
  const std::string judged = folder + "/judged.json";
  if (auto how = read_file(judged)) {
    auto judgement = parse_judgement(*how, judged);
    if (!judgement) return judgement.error();
    finding.judgement = std::move(*judgement);
  }
  const std::string known = recording + "/branches/reference.json";
  if (auto runs = read_file(known)) {
    auto references = parse_references(*runs, known);
    if (!references) return references.error();
    finding.references = std::move(*references);
  }
  return finding;
}

std::string broken_words(const std::vector<Difference>& differences) {
  if (differences.empty()) return "nothing broke";
  std::vector<std::string> words;
  for (const Difference& one : differences) words.push_back(one.consequence.detail);
  return join(words, "; ");
}

int judge_again(const Target& target, const Finding& finding, const std::string& folder,
                const RunReport& report, int64_t started_ns) {
  if (!report.replay.reached || report.lost || !report.trace.peers.empty()) {
    std::fputs("deadheat: the order could not be had again: this run says nothing\n", stderr);
    return kCannotRun;
  }
  References references;
  if (finding.references)
    references = *finding.references;
  else
    say_problems({"the undisturbed runs were not kept: only a crash or a hang is seen"});
  auto outcome = outcome_of(target, folder, report, started_ns);
  if (!outcome) return fail(outcome.error(), kCannotRun);
  const UserCheckers checkers{finding.judgement.checkers, finding.judgement.beside};
  auto words = ask_checkers(target, checkers, folder, report, TimeBudget::kNoLimit);
  if (!words) return fail(words.error(), kCannotRun);
  const std::vector<Difference> now = finding.judgement.compared
                                          ? failed_as_undisturbed(*outcome, *words, references)
                                          : judge_run(*outcome, *words, references);
  say("then: %s\n", broken_words(finding.judgement.differences).c_str());
  say("now:  %s: %s\n", broken_words(now).c_str(),
      now.empty()                                         ? "it did not fail this time"
      : has_in_common(now, finding.judgement.differences) ? "the failure is here again"
                                                          : "it failed in another way");
  return now.empty() ? kNothingFound : kFinding;
}

// All calls can be as recorded, and a program still do something else between them.
std::string how_it_went(const ReplayReport& replay, const std::string& difference) {
  if (!replay.reached) return replay.diverged;
  return difference.empty() ? "reproduced" : "it ended otherwise: " + difference;
}

}  // namespace

int run_proc_replay(ProcArguments& arguments) {
  auto named = folder_of(arguments);
  if (!named) return fail(named.error());
  const std::string what = *named;
  std::error_code failed;
  const bool is_finding = fs::exists(what + "/branch.json", failed);
  const std::string folder =
      is_finding ? fs::weakly_canonical(what, failed).parent_path().parent_path().string() : what;
  if (const Status own = check_own_recording(folder); !own) return fail(own.error());
  auto recording = Recording::open(folder);
  if (!recording) return fail(recording.error());
  auto model = build_model(*recording);
  if (!model) return fail(model.error());
  Finding finding;
  finding.branch = unchanged(*model);
  if (is_finding) {
    auto read = read_finding(what, folder, *model);
    if (!read) return fail(read.error());
    finding = std::move(*read);
  }
  auto target = make_target(*recording, *model, arguments.sandbox, arguments.timeout_s);
  if (!target) return fail(target.error(), kCannotRun);
  target->beside = finding.judgement.beside;
  say_problems(problems_of(target->checkpoint));
  say_missing_permissions(recording->info(), arguments.sandbox.allow);
  const std::string work = folder + "/replay";
  const ProcessorClaims claim(usable_processors(), 1);
  auto spec = make_spec(*target, RunKind::kReplay, work, claim.processors().front());
  if (!spec) return fail(spec.error(), kCannotRun);
  spec->branch = finding.branch;
  const int64_t started_ns = real_time_ns();
  auto report = run_to_end(std::move(*spec));
  if (!report) return fail(report.error(), kCannotRun);
  show_streams(work);
  const ReplayReport& replay = report->replay;
  say_problems(report->trace.peers);
  say("%s: %s; %s calls as recorded\n", is_finding ? "the failing order" : "the recording",
      how_it_went(replay, is_finding ? "" : first_difference(folder, work)).c_str(),
      with_thousands(replay.matched).c_str());
  if (is_finding) return judge_again(*target, finding, work, *report, started_ns);
  if (report->trace.timed_out) return kTimedOut;
  return report->trace.signal != 0 ? 128 + report->trace.signal : report->trace.status;
}

}  // namespace deadheat::apps
