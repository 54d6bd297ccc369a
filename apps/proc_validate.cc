// deadheat proc validate: the races of a recording in the other order, judged and reported.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

#include "apps/campaign_status.h"
#include "apps/proc.h"
#include "apps/say.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/printable.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"
#include "lib/model/finding_set.h"
#include "lib/pipeline/stop_signals.h"
#include "lib/pipeline/trials.h"
#include "lib/process/findings/findings.h"
#include "lib/process/recording/recording_check.h"
#include "lib/process/trials/comparison.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;
using namespace process;

constexpr const char* kOutcomes[] = {"harmful", "benign", "cannot happen", "not controlled"};

size_t outcome_of(const trials::BranchResult& result) {
  if (result.outcome == model::Outcome::kDivergedInfeasible) return 2;
  if (result.outcome != model::Outcome::kRace) return 3;
  return result.harmful() ? 0 : 1;
}

struct OutcomeCounts {
  explicit OutcomeCounts(const trials::Validation& validation) {
    for (const trials::BranchResult& result : validation.results) {
      if (!result.ran) continue;
      of[outcome_of(result)]++;
      tried++;
    }
  }
  size_t of[4] = {}, tried = 0;
};

// Failures that undisturbed runs did not have, and that no harmful order explains: of each one
// branch.
std::vector<const trials::BranchResult*> unexplained(const trials::Validation& validation) {
  std::vector<const trials::BranchResult*> left;
  const auto explained = [&](const trials::BranchResult& failed) {
    return std::any_of(validation.results.begin(), validation.results.end(),
                       [&](const trials::BranchResult& one) {
                         return one.ran && one.harmful() &&
                                trials::has_in_common(one.differences, failed.unexplained);
                       });
  };
  const auto listed = [&](const trials::BranchResult& failed) {
    return std::any_of(left.begin(), left.end(), [&](const trials::BranchResult* one) {
      return trials::has_in_common(one->unexplained, failed.unexplained);
    });
  };
  for (const trials::BranchResult& result : validation.results)
    if (result.ran && !result.unexplained.empty() && !explained(result) && !listed(result))
      left.push_back(&result);
  return left;
}

// Runs that failed although nobody disturbed them, if no harmful order was found.
size_t failed_by_themselves(const trials::Validation& validation, const ProcArguments& arguments) {
  const bool any =
      std::any_of(validation.results.begin(), validation.results.end(),
                  [](const trials::BranchResult& one) { return one.ran && one.harmful(); });
  return any ? 0 : arguments.failed_recordings + validation.references.failed_undisturbed;
}

model::FindingsFile to_file(const trials::LookedAt& looked, const trials::Validation& validation,
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
  const OutcomeCounts counts(validation);
  const auto failures = unexplained(validation);
  for (const trials::BranchResult* one : failures)
    origin.problems.push_back(
        one->unexplained.front().consequence.detail +
        " in both orders of two calls, and in no undisturbed run" +
        (one->folder.empty()
             ? ""
             : ": deadheat proc replay " + shell_quoted(std::vector<std::string>{one->folder})));
  origin.counters = {
      {"events", looked.recording.events().size(), "events in the recording", false},
      {"branches", counts.tried, "orders were tried", false},
      {"harmful", counts.of[0], "of them did harm", false},
      {"benign", counts.of[1], "of them changed nothing that matters", false},
      {"infeasible", counts.of[2], "of them cannot happen", false},
      {"uncontrolled", counts.of[3], "orders could not be controlled", true, true},
      {"not_run", validation.not_run, "orders were not tried: no time left", true, true},
      {"left_out", validation.left_out, "orders were not tried: --branches leaves them out", true,
       true},
      {"not_compared", validation.not_compared,
       "orders failed, without a comparison with the recorded one: no time left", true, true},
      {"unexplained", failures.size(),
       "failures that no undisturbed run has came in both orders: their cause was not found", true,
       true},
      {"failed_by_itself", failed_by_themselves(validation, arguments),
       "runs failed though undisturbed, and no order was found that causes it", true, true},
      {"cut_off", arguments.cut_off ? 1u : 0u, "recording was cut off: no time left", true, true},
      {"not_looked", validation.not_looked, "executions were not looked at again: no time left",
       true, true},
      {"unscanned", looked.races.unscanned,
       "pairs of accesses, farther apart than others, were not looked at", false},
      {"lost", looked.recording.info().lost, "events were lost while recording", true},
  };
  file.origins.push_back(std::move(origin));
  const std::string execution = fs::path(arguments.recording).filename().string();
  std::map<size_t, size_t>
      others;  // orders with the same consequences, by the result that represents them
  for (const findings::Cause& cause : findings::causes_of(validation))
    others[cause.result] = cause.others;
  model::FindingSet set(file);
  for (size_t i = 0; i < validation.results.size(); ++i) {
    const trials::BranchResult& result = validation.results[i];
    const bool fails = result.harmful();
    // Of deeper executions only those with a harmful order are kept.
    if (!result.ran || result.of == nullptr || (fails && !others.contains(i))) continue;
    model::Finding finding =
        findings::to_finding(result.of->recording, *result.of->model,
                             result.of->races.races[result.branch.race], validation.drawn);
    finding.evidence.push_back(
        findings::to_evidence(validation, i, execution, fails ? others[i] : 0));
    set.add(std::move(finding));
  }
  return file;
}

std::string counts_text(const trials::Validation& validation) {
  const OutcomeCounts counts(validation);
  const size_t untried = validation.not_run + validation.left_out;
  std::string text = with_thousands(counts.tried) + " branches: ";
  for (size_t i = 0; i < std::size(counts.of); i++)
    text += (i == 0 ? "" : ", ") + with_thousands(counts.of[i]) + " " + kOutcomes[i];
  return text + (untried > 0 ? "; " + with_thousands(untried) + " not tried" : "") +
         (validation.not_compared > 0
              ? "; " + with_thousands(validation.not_compared) + " failed, not compared"
              : "") +
         (validation.not_looked > 0
              ? "; " + with_thousands(validation.not_looked) + " executions not looked at again"
              : "");
}

void list_branches(const trials::Validation& validation) {
  const auto print = [](const std::string& line) {
    std::fputs((printable(line) + "\n").c_str(), stderr);
  };
  for (const trials::BranchResult& result : validation.results) {
    if (!result.ran) continue;
    std::fprintf(stderr, "%-14s on %s, %.0f ms%s\n", kOutcomes[outcome_of(result)],
                 printable(result.object).c_str(), 1000 * result.seconds,
                 result.taken ? ", last time" : "");
    for (const std::string& call : result.calls) print("    " + call);
    for (size_t at = result.after; at != trials::kNoResult; at = validation.results[at].after)
      print("    after the other order on " + validation.results[at].object);
    if (!result.why.empty()) print("    " + result.why);
    for (const judge::Difference& one : result.differences)
      print("    > " + one.consequence.detail + (result.repeated ? "" : " (seen once)"));
  }
}

// Results of another build are not reused: it may judge differently.
std::string this_build() {
  struct stat about = {};
  ::stat("/proc/self/exe", &about);
  return DEADHEAT_VERSION " " + std::to_string(about.st_size) + " " +
         std::to_string(about.st_mtim.tv_sec) + "." + std::to_string(about.st_mtim.tv_nsec);
}

// The command that continues from here, with all options that results depend on.
std::string going_on(const ProcArguments& arguments) {
  const ProcArguments usual;
  std::vector<std::string> words = {"deadheat", "proc", "validate", arguments.recording};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (arguments.undisturbed != usual.undisturbed)
    add("--undisturbed", std::to_string(arguments.undisturbed));
  if (arguments.depth != usual.depth) add("--depth", std::to_string(arguments.depth));
  if (arguments.timeout_s > 0) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", arguments.timeout_s);
    add("--timeout", seconds);
  }
  for (const std::string& one : arguments.checkers) add("--checker", one);
  for (const std::string& one : arguments.beside) add("--checker-beside", one);
  if (!arguments.allow.empty()) add("--allow", join(arguments.allow, ","));
  if (!arguments.on.empty()) add("--on", arguments.on);
  if (arguments.all) words.emplace_back("--all");
  return shell_quoted(words);
}

void say_taken(const trials::Validation& validation) {
  size_t taken = 0;
  for (const trials::BranchResult& result : validation.results) taken += result.taken;
  if (taken > 0)
    say("%s of %s branches taken from the last time (--restart tries them "
        "again)\n",
        with_thousands(taken).c_str(), with_thousands(validation.results.size()).c_str());
}

void say_what_counts_for_nothing(const ProcArguments& arguments,
                                 const trials::References& references) {
  if (references.failed_undisturbed > 0)
    say("warning: %zu of %zu undisturbed runs failed where the recording did "
        "not: such a failure counts only\n"
        "          if it comes with the changed order each time, and never with the "
        "recorded one\n",
        references.failed_undisturbed, references.undisturbed);
  std::vector<std::string> checkers = arguments.checkers;
  checkers.insert(checkers.end(), arguments.beside.begin(), arguments.beside.end());
  for (size_t i = 0; i < references.checkers.size() && i < checkers.size(); i++) {
    const trials::CheckerRecord& record = references.checkers[i];
    if (record.undisturbed_failed + record.serial_failed == 0) continue;
    say("warning: the checker %s fails in %zu of %zu undisturbed and %zu of %zu "
        "serial runs (%s)%s\n",
        checkers[i].c_str(), record.undisturbed_failed, references.undisturbed,
        record.serial_failed, references.serial, record.said.c_str(),
        references.counts(i) ? "" : ": what it says is not counted");
  }
}

}  // namespace

Status check_checkers(const std::vector<std::string>& after,
                      const std::vector<std::string>& beside) {
  for (const std::vector<std::string>* some : {&after, &beside})
    for (const std::string& checker : *some)
      if (Status own = check_checker(checker); !own) return own;
  return Ok{};
}

void add_validate_options(CLI::App& app, ProcArguments& arguments) {
  app.add_option("--undisturbed", arguments.undisturbed, "runs to compare with")
      ->check(CLI::Range(1, 1000));
  app.add_option("--branches", arguments.branches, "try at most that many orders; 0: all");
  app.add_option("--time", arguments.time_s, "seconds for all of it, recording too; 0: no limit");
  app.add_option("--jobs", arguments.jobs, "runs at a time; 0: as many as processors");
  app.add_option("--on", arguments.on,
                 "run on a cluster: slurm or slurm:PARTITION, as a job array of --jobs workers; "
                 "the recording must be there on all nodes, and so must this folder")
      ->type_name("CLUSTER");
  app.add_option("--checker", arguments.checkers,
                 "command that judges a run: OUT ERR STATUS STATE");
  app.add_option("--checker-beside", arguments.beside,
                 "command that tests the running command, in its sandbox; a server ends with "
                 "it");
  app.add_option("--depth", arguments.depth,
                 "how many orders are changed, one after the other (2: races of what a changed "
                 "order did, too)")
      ->check(CLI::Range(1, 8));
  app.add_flag("--restart", arguments.restart, "try again what was tried before");
  app.add_flag("--verbose", arguments.verbose, "list every order that was tried");
  app.add_flag("--all", arguments.all, "also terminal output and the like");
}

int run_validate(ProcArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  // Workers of a cluster find it by its whole path.
  std::error_code failed;
  if (!arguments.on.empty())
    arguments.recording = fs::absolute(arguments.recording, failed).lexically_normal().string();
  if (const Status own = recording::check_own_recording(arguments.recording); !own)
    return fail(own.error());
  auto looked = trials::look_for_races(arguments.recording, arguments.all);
  if (!looked) return fail(looked.error());
  if (const Status own = check_checkers(arguments.checkers, arguments.beside); !own)
    return fail(own.error());
  say_missing_permissions(looked->recording.info(), arguments.sandbox.allow);
  say("%s races to try\n", with_thousands(looked->races.races.size()).c_str());
  trials::ValidateOptions options;
  options.undisturbed = arguments.undisturbed;
  options.depth = arguments.depth;
  options.most_branches = arguments.branches;
  options.time = arguments.time;
  options.timeout_s = arguments.timeout_s;
  options.jobs = arguments.jobs;
  options.all = arguments.all;
  options.restart = arguments.restart;
  options.tool = this_build();
  options.sandbox = arguments.sandbox;
  options.checkers = {arguments.checkers, arguments.beside};
  CampaignStatus status;
  const pipeline::StopSignals signals;
  options.stopped = [] { return pipeline::StopSignals::stopped(); };
  options.progress = [&](const confirm::Progress& now) { status.update(now); };
  pipeline::OnCluster cluster;
  if (!arguments.on.empty()) {
    if (options.jobs == 0) options.jobs = static_cast<int>(std::thread::hardware_concurrency());
    auto made = pipeline::start_on(arguments.on, static_cast<uint64_t>(std::max(1, options.jobs)));
    if (!made) return fail(made.error(), kCannotRun);
    cluster = std::move(*made);
    options.elsewhere = {cluster.runner.get(), {cluster.program, pipeline::kWorkerVerb, "--run"}};
  }
  auto validation = trials::validate(*looked, options);
  status.end();
  if (validation && cluster.runner)
    for (std::string& line : cluster.runner->problems())
      validation->problems.push_back(std::move(line));
  if (!validation) return fail(validation.error(), kCannotRun);
  say_what_counts_for_nothing(arguments, validation->references);
  if (arguments.verbose) list_branches(*validation);
  say_taken(*validation);
  say("%s\n", counts_text(*validation).c_str());
  if (validation->not_run + validation->not_looked + validation->not_compared > 0 ||
      validation->stopped)
    say("to go on: %s\n", going_on(arguments).c_str());
  arguments.output.fails = report::FailOn::kRace;
  return exit_code(emit(to_file(*looked, *validation, arguments), arguments.output),
                   validation->stopped ? int{kInterrupted} : 0);
}

}  // namespace deadheat::apps
