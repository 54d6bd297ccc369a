// deadheat check: the whole job in one command. Find (a detecting run, and the hybrid engine on a
// recorded one), confirm each candidate by scheduling, judge its consequences, report.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/campaign_status.h"
#include "apps/output.h"
#include "apps/say.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/time_budget.h"
#include "lib/base/trust.h"
#include "lib/base/work_folder.h"
#include "lib/pipeline/captured.h"
#include "lib/pipeline/find.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kCheckTime_s = 600;
struct CheckArguments {
  TrialOptions trials;
  pipeline::FindOptions find;
  std::string keep = "deadheat-check";
  OutputOptions output;
};

constexpr std::array kSourceEndings = {".c", ".cc", ".cpp", ".cxx"};

// The name alone does not decide: a program, or a script with its first line, may be called x.c.
bool is_program(const std::string& path) {
  char start[4] = {};
  const auto file = open_for_reading(path);
  if (!file || ::read(file.value().get(), start, sizeof start) < 2) return false;
  const std::string_view bytes(start, sizeof start);
  return bytes == "\177ELF" || bytes.starts_with("#!");
}

bool is_source(const fs::path& path) {
  std::error_code error;
  return std::find(kSourceEndings.begin(), kSourceEndings.end(), path.extension()) !=
             kSourceEndings.end() &&
         fs::is_regular_file(path, error) && !is_program(path);
}

// The source file that a word refers to, or nothing: the word itself, or with its ending added.
std::string source_of(const std::string& word) {
  if (is_source(word)) return word;
  std::error_code error;
  if (fs::is_regular_file(word, error)) return {};
  for (const char* ending : kSourceEndings)
    if (is_source(word + ending)) return word + ending;
  return {};
}

// Builds a source file in the folder that is kept.
Result<std::string> build(const std::string& source, const CheckArguments& arguments,
                          const std::string& work) {
  const std::string program =
      fs::absolute(fs::path(arguments.keep) / fs::path(source).stem()).string();
  const bool is_c = fs::path(source).extension() == ".c";
  std::vector<std::string> words = {
      pipeline::self_folder() + (is_c ? "/deadheat-cc" : "/deadheat-c++"),
      "-g",
      "-O1",
      "-pthread",
      fs::absolute(source).string(),
      "-o",
      program};
  if (arguments.find.scan) words.emplace_back("--scan");
  say("building %s\n", source.c_str());
  pipeline::Captured what;
  what.command = std::move(words);
  what.work = work;
  what.limit_s = TimeBudget::kNoLimit;
  auto end = pipeline::run_captured(what);
  if (!end) return end.error();
  if (end->status == 0) return program;
  std::fputs(end->errors.c_str(), stderr);
  return Error{source + " does not build", ""};
}

// A trial directed at it failed, and is repeatable.
bool is_named_by_a_failure(const model::Finding& finding, const model::FindingsFile& file) {
  const std::string key = schedule::candidate_key(finding.candidate);
  return std::any_of(file.findings.begin(), file.findings.end(), [&](const model::Finding& one) {
    return one.candidate.kind == model::CandidateKind::kFailure &&
           std::any_of(one.evidence.begin(), one.evidence.end(), [&](const model::Evidence& e) {
             return e.trial && e.trial->reproducer.candidate == key;
           });
  });
}

// Both orders of two locks or atomics are legal: only a failing one deserves attention.
void drop_harmless_orders(model::FindingsFile& file) {
  const auto is_harmless = [&](const model::Finding& finding) {
    return finding.candidate.kind == model::CandidateKind::kOrder &&
           model::fold(finding).state != model::VerdictState::kTrueRace &&
           !is_named_by_a_failure(finding, file);
  };
  std::vector<model::Finding> kept;
  for (const model::Finding& finding : file.findings)
    if (!is_harmless(finding)) kept.push_back(finding);
  const size_t harmless = file.findings.size() - kept.size();
  file.findings = std::move(kept);
  file.origins.back().counters.push_back(
      {"orders_without_failure", harmless,
       "pairs of locks or atomics were tried in both orders, or could not be, without failure",
       false});
}

int report(CheckArguments& arguments, const model::FindingsFile& file) {
  OutputOptions& output = arguments.output;
  output.fails = arguments.trials.fails();
  const std::string page = arguments.keep + "/report.html";
  const bool own_choice = !output.outputs.empty() || !output.formats.empty();
  if (!own_choice) {
    output.formats = {"text", "html"};
    output.outputs = {"-", page};
  }
  const int verdict = emit(file, output);
  if (!own_choice) say("the same as a page: %s\n", page.c_str());
  return verdict;
}

// Reports, here and in the report, the parts of the search for which there was no time.
void note_not_done(pipeline::Found& found) {
  for (const std::string& line : found.not_done) say("not done: %s\n", line.c_str());
  if (found.file.origins.empty()) return;
  Counters& counters = found.file.origins.back().counters;
  if (!found.not_done.empty())
    counters.push_back({"search_not_done", found.not_done.size(),
                        "steps of the search left out: " + join(found.not_done, ", "), true, true});
  if (found.stopped)
    counters.push_back({"not_decided", found.file.findings.size(),
                        "candidates were not tried: stopped", true, true});
}

int confirm_found(CheckArguments& arguments, pipeline::Found& found, const TimeBudget& budget) {
  say("confirming %zu\n", found.file.findings.size());
  // A scan has many suspicions: both confirmers try them, and the first proof counts.
  arguments.trials.validate = arguments.find.scan;
  const pipeline::Known known{.took_s = found.took_s,
                              .never_ended = found.timed_out && found.took_s == 0};
  auto outcome = confirm_findings(found.file, arguments.trials, arguments.output.findings, "check",
                                  budget, known);
  if (!outcome) {  // for example a full disk: earlier findings are not lost
    report(arguments, found.file);
    return fail(outcome.error(), kCannotRun);
  }
  std::fprintf(
      stderr, "deadheat: %s%s\n", status_words(outcome->progress).c_str(),
      outcome->stopped || outcome->out_of_time ? "; not finished: deadheat confirm continues" : "");
  drop_harmless_orders(found.file);
  return exit_code(report(arguments, found.file), outcome->stopped ? int{kInterrupted} : 0);
}

int run_check(CheckArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  if (const Status own = check_checker(arguments.trials.checker); !own) return fail(own.error());
  const auto work = WorkFolder::create();
  if (!work) return fail(work.error(), kCannotRun);
  std::error_code error;
  fs::create_directories(arguments.keep, error);
  if (error)
    return fail({"cannot make " + arguments.keep + ": " + error.message(), "--keep FOLDER"});
  TrialOptions& trials = arguments.trials;
  pipeline::settle_paths(trials);
  if (const std::string source = source_of(trials.program[0]); !source.empty()) {
    auto program = build(source, arguments, work.value()->path());
    if (!program) return fail(program.error());
    trials.program[0] = std::move(program).value();
  }
  const TimeBudget budget(trials.time_s);
  arguments.find.work = work.value()->path();
  arguments.find.say = [](const std::string& line) { say("%s\n", line.c_str()); };
  arguments.find.warn = [](const Error& problem) { fail(problem); };
  Result<pipeline::Found> found = pipeline::Found{};
  {
    const pipeline::StopSignals signals;
    int code = kCannotRun;
    found = pipeline::find_races(trials, arguments.find, budget, code);
    if (!found)
      return fail(found.error(), pipeline::StopSignals::stopped() ? int{kInterrupted} : code);
  }
  arguments.output.built_in_suppressions = found->built_in_suppressions;
  note_not_done(*found);
  if (!found->ran) return found->status != 0 ? found->status : int{kCannotRun};
  if (arguments.output.findings.empty())
    arguments.output.findings = arguments.keep + "/findings.json";
  fs::remove_all(pipeline::schedules_folder(arguments.output.findings), error);
  if (found->stopped) {
    std::fputs("deadheat: stopped; deadheat confirm continues with what was found\n", stderr);
    return exit_code(report(arguments, found->file), kInterrupted);
  }
  if (found->file.findings.empty()) return exit_code(report(arguments, found->file), found->status);
  return confirm_found(arguments, *found, budget);
}

}  // namespace

Verb check_verb() {
  return {"check", "find, confirm and judge the races of a program, in one go",
          "deadheat check -- ./server --port 8080", [](CLI::App& app) {
            auto arguments = std::make_shared<CheckArguments>();
            arguments->trials.time_s = kCheckTime_s;
            app.positionals_at_end();
            app.add_option("program", arguments->trials.program,
                           "the program and its arguments, after -- or not; or a source file, with "
                           "or without its ending, which is built first")
                ->type_name("PROGRAM")
                ->required();
            app.add_option("--keep", arguments->keep,
                           "findings, schedules and the report as a page are kept there")
                ->type_name("FOLDER");
            app.add_flag(
                "--orders", arguments->find.orders,
                "also try other orders of lock acquisitions and atomic accesses, for failures");
            app.add_flag("--static", arguments->find.scan,
                         "also try what deadheat scan suspects, by scheduling and by validating; "
                         "the program must be built with deadheat-cc --scan");
            app.add_option("--runs", arguments->find.runs,
                           "run the program up to so often while no candidate is found, if that "
                           "takes less than a tenth of --time")
                ->type_name("N")
                ->check(CLI::Range(1, 10000));
            add_trial_options(app, arguments->trials);
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_check(*arguments); });
          }};
}

}  // namespace deadheat::apps
