// deadheat proc validate and replay: the races of a recording in the other order, judged and
// reported.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>

#include "apps/launch.h"
#include "apps/proc.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/process/findings.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/sandbox/checkpoint.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using namespace process;

constexpr int kInterrupted = 130;

std::string progress_words(const ValidateProgress& now) {
  char text[160];
  if (now.branches == 0)
    std::snprintf(text, sizeof text, "%s, %.0f s", now.doing.c_str(), now.seconds);
  else
    std::snprintf(text, sizeof text,
                  "%zu of %zu branches, %zu harmful, %zu diverged, %.1f a second", now.done,
                  now.branches, now.harmful, now.diverged,
                  now.seconds > 0 ? static_cast<double>(now.done) / now.seconds : 0);
  return text;
}

// One live line on a terminal; elsewhere a line every ten seconds.
class Status {
 public:
  void update(const ValidateProgress& now) {
    if (live_)
      std::fprintf(stderr, "\r\033[Kdeadheat: %s", progress_words(now).c_str());
    else if (now.seconds >= next_)
      std::fprintf(stderr, "deadheat: %s\n", progress_words(now).c_str());
    if (now.seconds >= next_) next_ = now.seconds + 10;
  }
  ~Status() {
    if (live_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool live_ = ::isatty(2) != 0;
  double next_ = 10;
};

// Harmful orders that break the same things have one cause: the nearest stands for all.
struct Cause {
  size_t result = 0;
  size_t others = 0;
};

std::vector<Cause> causes_of(const Validation& validation) {
  std::map<std::string, size_t> seen;
  std::vector<Cause> causes;
  for (size_t i = 0; i < validation.results.size(); i++) {
    const BranchResult& result = validation.results[i];
    if (result.verdict != BranchVerdict::kHarmful) continue;
    std::vector<std::string> broken;
    for (const Difference& one : result.differences) broken.push_back(one.consequence.detail);
    std::sort(broken.begin(), broken.end());
    const auto [at, fresh] = seen.emplace(join(broken, "\n"), causes.size());
    if (fresh)
      causes.push_back({i, 0});
    else
      causes[at->second].others++;
  }
  return causes;
}

model::FindingsFile to_file(const LookedAt& looked, const Validation& validation,
                            const ProcArguments& arguments) {
  model::FindingsFile file;
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "proc";
  origin.engine = "proc";
  origin.input = shell_quoted(looked.recording.info().command);
  origin.problems = looked.recording.problems();
  origin.problems.insert(origin.problems.end(), validation.problems.begin(),
                         validation.problems.end());
  size_t tried = 0, benign = 0, infeasible = 0, uncontrolled = 0, harmful = 0;
  for (const BranchResult& result : validation.results) {
    if (!result.ran) continue;
    tried++;
    benign += result.verdict == BranchVerdict::kBenign;
    infeasible += result.verdict == BranchVerdict::kInfeasible;
    uncontrolled += result.verdict == BranchVerdict::kUncontrolled;
    harmful += result.verdict == BranchVerdict::kHarmful;
  }
  origin.counters = {
      {"events", looked.recording.events().size(), "events in the recording", false},
      {"branches", tried, "orders were tried", false},
      {"harmful", harmful, "of them did harm", false},
      {"benign", benign, "of them changed nothing that matters", false},
      {"infeasible", infeasible, "of them cannot happen", false},
      {"uncontrolled", uncontrolled, "of them could not be controlled", true},
      {"not_run", validation.not_run, "orders were not tried: no time left", true},
      {"lost", looked.recording.info().lost, "events were lost while recording", true},
  };
  file.origins.push_back(std::move(origin));
  const std::string execution = fs::path(arguments.recording).filename().string();
  for (const Cause& cause : causes_of(validation)) {
    const BranchResult& result = validation.results[cause.result];
    const ProcessRace& race = looked.races.races[result.branch.race];
    model::Finding finding = to_finding(looked.recording, *looked.model, race);
    finding.evidence.push_back(
        to_evidence(looked.recording, *looked.model, race, result, execution));
    model::add_finding(file, std::move(finding));
  }
  return file;
}

std::string counts_text(const Validation& validation) {
  size_t counts[4] = {}, tried = 0;
  for (const BranchResult& result : validation.results) {
    if (!result.ran) continue;
    counts[static_cast<size_t>(result.verdict)]++;
    tried++;
  }
  return with_thousands(tried) + " branches: " + with_thousands(counts[0]) + " harmful, " +
         with_thousands(counts[1]) + " benign, " + with_thousands(counts[2]) + " cannot happen, " +
         with_thousands(counts[3]) + " not controlled" +
         (validation.not_run > 0 ? "; " + with_thousands(validation.not_run) + " not tried" : "");
}

void list_branches(const LookedAt& looked, const Validation& validation) {
  static constexpr const char* kNames[] = {"harmful", "benign", "cannot happen", "not controlled"};
  for (const BranchResult& result : validation.results) {
    if (!result.ran) continue;
    const ProcessRace& race = looked.races.races[result.branch.race];
    std::fprintf(stderr, "%-14s on %s, %.0f ms\n", kNames[static_cast<size_t>(result.verdict)],
                 looked.model->objects[race.object].name.c_str(), 1000 * result.run.seconds);
    for (const uint32_t anchor : race.anchors)
      std::fprintf(stderr, "    %s\n",
                   describe_node(*looked.model, looked.recording, anchor).c_str());
    if (!result.why.empty()) std::fprintf(stderr, "    %s\n", result.why.c_str());
    for (const Difference& one : result.differences)
      std::fprintf(stderr, "    > %s%s\n", one.consequence.detail.c_str(),
                   result.repeated ? "" : " (seen once)");
  }
}

}  // namespace

void add_validate_options(CLI::App& app, ProcArguments& arguments) {
  app.add_option("--undisturbed", arguments.undisturbed, "runs to compare with")
      ->check(CLI::Range(1, 1000));
  app.add_option("--branches", arguments.branches, "try at most that many orders; 0: all");
  app.add_option("--time", arguments.time_s, "seconds for all of it; 0: no limit");
  app.add_option("--jobs", arguments.jobs, "runs at a time; 0: as many as processors");
  app.add_option("--checker", arguments.checkers,
                 "command that judges a run: OUT ERR STATUS STATE");
  app.add_flag("--verbose", arguments.verbose, "list every order that was tried");
  app.add_flag("--all", arguments.all, "also terminal output and the like");
}

int run_validate(ProcArguments& arguments) {
  auto looked = look_for_races(arguments.recording, arguments.all);
  if (!looked) return fail(looked.error());
  std::fprintf(stderr, "deadheat: %s races to try\n",
               with_thousands(looked->races.races.size()).c_str());
  ValidateOptions options;
  options.undisturbed = arguments.undisturbed;
  options.most_branches = arguments.branches;
  options.budget_s = arguments.time_s;
  options.timeout_s = arguments.timeout_s;
  options.jobs = arguments.jobs;
  options.work = arguments.recording + "/branches";
  options.sandbox = arguments.sandbox;
  options.checkers = arguments.checkers;
  std::error_code failed;
  fs::create_directories(options.work, failed);
  if (failed) return fail(errno_error("cannot make", options.work, failed.value()), kCannotRun);
  Status status;
  std::atomic<bool> stop = false;
  const StopSignals signals;
  options.stop = &stop;
  options.progress = [&](const ValidateProgress& now) {
    stop = StopSignals::stopped();
    status.update(now);
  };
  auto validation =
      validate(looked->recording, *looked->model, *looked->graph, looked->races, options);
  if (!validation) return fail(validation.error(), kCannotRun);
  if (validation->failed_undisturbed_runs > 0)
    std::fprintf(stderr,
                 "deadheat: warning: %zu of %d undisturbed runs failed where the recording did "
                 "not: such failures "
                 "are not counted\n",
                 validation->failed_undisturbed_runs, arguments.undisturbed);
  if (arguments.verbose) list_branches(*looked, *validation);
  std::fprintf(stderr, "deadheat: %s\n", counts_text(*validation).c_str());
  arguments.output.confirmed_only = true;
  const int verdict = emit(to_file(*looked, *validation, arguments), arguments.output);
  return verdict == kNothingFound && stop ? kInterrupted : verdict;
}

int run_replay(const ProcArguments& arguments) {
  const std::string branch_file = arguments.recording + "/branch.json";
  std::error_code failed;
  const bool is_branch = fs::exists(branch_file, failed);
  const std::string folder =
      is_branch ? fs::absolute(arguments.recording).parent_path().parent_path().string()
                : arguments.recording;
  auto recording = Recording::open(folder);
  if (!recording) return fail(recording.error());
  auto model = build_model(*recording);
  if (!model) return fail(model.error());
  RunSpec spec;
  spec.kind = RunKind::kReplay;
  spec.branch = unchanged(*model);
  if (is_branch) {
    auto text = read_file(branch_file);
    if (!text) return fail(text.error());
    auto branch = parse_branch(*text, *model);
    if (!branch) return fail(branch.error());
    spec.branch = std::move(*branch);
  }
  spec.recording = &*recording;
  spec.model = &*model;
  spec.about = recording->info();
  spec.folder = folder + "/replay";
  spec.timeout_s = std::max(10.0, 10 * recording->info().seconds);
  spec.patience_s = std::max(3.0, 6 * recording->info().seconds);
  spec.sandbox.processor = 0;
  spec.sandbox.host_name = recording->info().host_name;
  if (fs::exists(folder + "/stdin", failed)) spec.input = folder + "/stdin";
  auto checkpoint = compare_checkpoint(folder);
  if (!checkpoint) return fail(checkpoint.error());
  if (!checkpoint->layer.empty()) spec.sandbox.layers = {checkpoint->layer};
  for (const std::string& path : checkpoint->changed)
    std::fprintf(stderr, "deadheat: warning: %s is not as when this was recorded\n", path.c_str());
  fs::remove_all(spec.folder, failed);
  fs::create_directories(spec.folder, failed);
  const std::string shown = spec.folder;
  auto report = run_to_end(std::move(spec));
  if (!report) return fail(report.error(), kCannotRun);
  for (const char* const name : {"out", "err"}) {
    auto text = read_file(shown + "/" + name);
    if (text) std::fwrite(text->data(), 1, text->size(), name[0] == 'o' ? stdout : stderr);
  }
  const ReplayReport& replay = report->replay;
  std::fprintf(stderr, "deadheat: %s: %s; %s calls as recorded\n",
               is_branch ? "the failing order" : "the recording",
               replay.reached ? "reproduced" : replay.diverged.c_str(),
               with_thousands(replay.matched).c_str());
  return report->trace.signal != 0 ? 128 + report->trace.signal : report->trace.status;
}

}  // namespace deadheat::apps
