// deadheat proc replay: runs a recording, or the failing order of a finding, once more, and reports
// whether the failure recurred.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "apps/proc.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/processors.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"
#include "lib/confirm/processor_claims.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"
#include "lib/process/judge/end_state.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/recording/recording_check.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/trials/comparison.h"
#include "lib/process/trials/kept_results.h"
#include "lib/process/trials/references.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using namespace process;

// The folder of a finding's failing order, from a findings file; the worst if several match.
Result<std::string> folder_of_finding(const std::string& path, const std::string& id) {
  const auto file = model::read_findings(path);
  if (!file) return file.error();
  // The file names a folder whose command runs: only your own file may choose one of yours.
  if (const std::string why = distrust(path); !why.empty())
    return Error{path + " " + why + ", and names the recording to run",
                 "say what is to be run: deadheat proc replay FOLDER, as the report names it"};
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

// Accepts a folder; "findings.json"; "findings.json#DH-12ab34cd"; or file and id separately.
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
  races::Branch branch;
  trials::KeptJudgement judgement;
  std::optional<trials::References> references;
};

Result<Finding> read_finding(const std::string& folder, const std::string& recording,
                             const effects::Model& model) {
  auto text = read_file(folder + "/branch.json");
  if (!text) return text.error();
  auto branch = races::parse_branch(*text, model);
  if (!branch) return branch.error();
  Finding finding;
  finding.branch = std::move(*branch);
  const std::string judged = folder + "/judged.json";
  if (auto how = read_file(judged)) {
    auto judgement = trials::parse_judgement(*how, judged);
    if (!judgement) return judgement.error();
    finding.judgement = std::move(*judgement);
  }
  const std::string known = recording + "/branches/reference.json";
  if (auto runs = read_file(known)) {
    auto references = trials::parse_references(*runs, known);
    if (!references) return references.error();
    finding.references = std::move(*references);
  }
  return finding;
}

std::string broken_words(const std::vector<judge::Difference>& differences) {
  if (differences.empty()) return "nothing broke";
  std::vector<std::string> words;
  for (const judge::Difference& one : differences) words.push_back(one.consequence.detail);
  return join(words, "; ");
}

int judge_again(const trials::Target& target, const Finding& finding, const std::string& folder,
                const replay::RunReport& report, int64_t started_ns) {
  if (!report.replay.reached || report.lost || !report.trace.peers.empty()) {
    std::fputs("deadheat: the order could not be had again: this run says nothing\n", stderr);
    return kCannotRun;
  }
  trials::References references;
  if (finding.references)
    references = *finding.references;
  else
    say_problems({"the undisturbed runs were not kept: only a crash or a hang is seen"});
  auto outcome = trials::outcome_of(target, folder, report, started_ns);
  if (!outcome) return fail(outcome.error(), kCannotRun);
  const trials::UserCheckers checkers{finding.judgement.checkers, finding.judgement.beside};
  auto words = trials::ask_checkers(target, checkers, folder, report, TimeBudget::kNoLimit);
  if (!words) return fail(words.error(), kCannotRun);
  const std::vector<judge::Difference> now =
      finding.judgement.compared ? trials::failed_as_undisturbed(*outcome, *words, references)
                                 : trials::judge_run(*outcome, *words, references);
  say("then: %s\n", broken_words(finding.judgement.differences).c_str());
  say("now:  %s: %s\n", broken_words(now).c_str(),
      now.empty()                                                 ? "it did not fail this time"
      : trials::has_in_common(now, finding.judgement.differences) ? "the failure is here again"
                                                                  : "it failed in another way");
  return now.empty() ? kNothingFound : kFinding;
}

// All calls can be as recorded while the program behaves differently between them.
std::string how_it_went(const replay::ReplayReport& replay, const std::string& difference) {
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
  if (const Status own = recording::check_own_recording(folder); !own) return fail(own.error());
  auto recording = recording::Recording::open(folder);
  if (!recording) return fail(recording.error());
  auto model = effects::build_model(*recording);
  if (!model) return fail(model.error());
  Finding finding;
  finding.branch = races::unchanged(*model);
  if (is_finding) {
    auto read = read_finding(what, folder, *model);
    if (!read) return fail(read.error());
    finding = std::move(*read);
  }
  auto target = trials::make_target(*recording, *model, arguments.sandbox, arguments.timeout_s);
  if (!target) return fail(target.error(), kCannotRun);
  if (const Status own = check_checkers(finding.judgement.checkers, finding.judgement.beside); !own)
    return fail(own.error());
  target->beside = finding.judgement.beside;
  say_problems(trials::problems_of(target->checkpoint));
  say_missing_permissions(recording->info(), arguments.sandbox.allow);
  const std::string work = folder + "/replay";
  const confirm::ProcessorClaims claim(usable_processors(), 1);
  auto spec =
      trials::make_spec(*target, replay::RunKind::kReplay, work, claim.processors().front());
  if (!spec) return fail(spec.error(), kCannotRun);
  spec->branch = finding.branch;
  const int64_t started_ns = replay::real_time_ns();
  auto report = replay::run_to_end(std::move(*spec));
  if (!report) return fail(report.error(), kCannotRun);
  show_streams(work);
  const replay::ReplayReport& replay = report->replay;
  say_problems(report->trace.peers);
  say("%s: %s; %s calls as recorded\n", is_finding ? "the failing order" : "the recording",
      how_it_went(replay, is_finding ? "" : judge::first_difference(folder, work)).c_str(),
      with_thousands(replay.matched).c_str());
  if (is_finding) return judge_again(*target, finding, work, *report, started_ns);
  if (report->trace.timed_out) return kTimedOut;
  return report->trace.signal != 0 ? 128 + report->trace.signal : report->trace.status;
}

}  // namespace deadheat::apps
