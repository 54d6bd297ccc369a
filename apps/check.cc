// deadheat check: the whole job in one command. Find (a detecting run, and the hybrid engine on a
// recorded one), confirm each candidate by scheduling, judge its consequences, report.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/campaign_status.h"
#include "apps/output.h"
#include "apps/say.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "lib/base/time_budget.h"
#include "lib/base/trust.h"
#include "lib/base/work_folder.h"
#include "lib/model/candidate_list.h"
#include "lib/pipeline/after.h"
#include "lib/pipeline/find.h"
#include "lib/pipeline/source_file.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kCheckTime_s = 600;
struct CheckArguments {
  TrialOptions trials;
  pipeline::FindOptions find;
  std::string candidates;
  std::string keep = "deadheat-check";
  OutputOptions output;
};

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
  pipeline::drop_harmless_orders(found.file);
  return exit_code(report(arguments, found.file), outcome->stopped ? int{kInterrupted} : 0);
}

// A plain list names no program, so its places are taken to be of this one.
Status read_given(CheckArguments& arguments) {
  if (arguments.candidates.empty()) return Ok{};
  auto given = model::read_candidates(arguments.candidates);
  if (!given) return given.error();
  if (given->listed) model::set_program(given->file, arguments.trials.program.at(0));
  arguments.find.candidates = std::move(given->file);
  return Ok{};
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
  if (const std::string source = pipeline::source_of(trials.program[0]); !source.empty()) {
    say("building %s\n", source.c_str());
    auto program =
        pipeline::build_source(source, arguments.keep, arguments.find.scan, work.value()->path());
    if (!program) return fail(program.error());
    trials.program[0] = std::move(program).value();
  }
  if (const Status read = read_given(arguments); !read) return fail(read.error());
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
  for (const std::string& line : found->not_done) say("not done: %s\n", line.c_str());
  pipeline::count_not_done(*found);
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
            app.add_option("--candidates", arguments->candidates,
                           "findings.json of another finder, or a plain list of FILE:LINE pairs: "
                           "tried as well")
                ->type_name("FINDINGS");
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
