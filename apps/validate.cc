// deadheat validate: validates the candidates of a findings file in a program built for them, run
// after run or while it serves.
#include "lib/validate/validate.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/campaign_status.h"
#include "apps/output.h"
#include "apps/runtime_options.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "compiler/verify/inspect.h"
#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/trust.h"
#include "lib/base/work_folder.h"
#include "lib/live/instrumented.h"
#include "lib/model/candidate_list.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::apps {
namespace {

struct ValidateArguments {
  std::string input, prepare;
  TrialOptions trials;
  OutputOptions output;
  std::vector<std::string> libraries;
  int64_t process = 0;
  uint64_t runs = 0, jobs_at_once = 4;
  double tau_ms = 1, tau_step_ms = 50, tau_most_ms = 200, bound_ms = 1000;
  double budget_percent = 0, standstill_ms = 0;
  bool no_steering = false, ask = false;
};

// The program and what the dynamic linker would load with it.
std::vector<std::string> binaries_of(const std::string& program) {
  std::vector<std::string> paths = {program};
  if (const auto inspection = verify::inspect(program))
    for (const verify::Module& module : inspection.value().modules)
      if (module.role == verify::Role::kProgram && !module.path.empty() && module.path != program)
        paths.push_back(module.path);
  return paths;
}

uint32_t microseconds(double ms) { return static_cast<uint32_t>(ms * 1000); }

Result<validate::Options> options_from(const ValidateArguments& arguments) {
  validate::Options options;
  std::error_code ignored;
  std::string program;
  if (arguments.process != 0) {
    program = std::filesystem::read_symlink("/proc/" + std::to_string(arguments.process) + "/exe",
                                            ignored)
                  .string();
    if (program.empty())
      return Error{"no process " + std::to_string(arguments.process), "--attach names a process"};
    options.target.program = {program};
  } else {
    const auto folder = pipeline::runtime_folder("validate");
    if (!folder) return folder.error();
    options.target.program = arguments.trials.program;
    options.target.directory =
        std::filesystem::absolute(
            arguments.trials.directory.empty() ? "." : arguments.trials.directory, ignored)
            .string();
    if (!std::filesystem::is_directory(options.target.directory, ignored))
      return Error{"no folder " + options.target.directory, "--directory names where it runs"};
    options.target.input = arguments.trials.input;
    options.target.environment = [folder = folder.value()](
                                     const std::string&, const std::vector<std::string>& settings) {
      return std::map<std::string, std::string>{
          {"LD_LIBRARY_PATH", pipeline::library_path(folder)},
          {"DEADHEAT_OPTIONS", pipeline::runtime_environment(settings)}};
    };
    program = find_program(arguments.trials.program.at(0));
    if (program.empty())
      return Error{"no such program: " + arguments.trials.program.at(0), "give its path"};
  }
  options.binaries = binaries_of(program);
  options.binaries.insert(options.binaries.end(), arguments.libraries.begin(),
                          arguments.libraries.end());
  options.taus = {microseconds(arguments.tau_ms), microseconds(arguments.tau_step_ms),
                  microseconds(arguments.tau_most_ms), static_cast<uint32_t>(arguments.bound_ms)};
  options.jobs = static_cast<uint32_t>(arguments.jobs_at_once);
  options.most_runs = arguments.runs;
  options.undisturbed = arguments.trials.undisturbed;
  options.timeout_s = arguments.trials.timeout_s;
  options.budget_ppm = static_cast<uint32_t>(arguments.budget_percent * 10'000);
  options.standstill_us = microseconds(arguments.standstill_ms);
  options.steer = !arguments.no_steering;
  if (const Status own = check_checker(arguments.trials.checker); !own) return own.error();
  options.checker = pipeline::checker_command(arguments.trials.checker);
  options.only = {arguments.trials.only.begin(), arguments.trials.only.end()};
  return options;
}

// A production program that we did not start gets a budget unless the user sets one.
void be_gentle(ValidateArguments& arguments, const CLI::App& app) {
  if (arguments.process == 0) return;
  if (app.count("--budget") == 0) arguments.budget_percent = 2;
  if (app.count("--standstill") == 0) arguments.standstill_ms = arguments.tau_most_ms;
}

void add_origin(model::FindingsFile& file, const ValidateArguments& arguments,
                const validate::Outcome& outcome) {
  model::Origin origin;
  origin.tool_version = DEADHEAT_VERSION;
  origin.verb = "validate";
  origin.arguments = arguments.trials.program;
  origin.engine = "validate";
  origin.input = arguments.input;
  origin.counters = outcome.counters;
  origin.problems = outcome.problems;
  file.origins.push_back(std::move(origin));
}

// A user who stops a hanging program knows that it hangs: a watchdog that needs no configuration.
bool ask_whether_it_misbehaved() {
  std::fputs("deadheat: did the program misbehave when you interrupted it? [y/N] ", stderr);
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

// Writes the file, and prints how to start the program with it.
int prepare(const ValidateArguments& arguments, const validate::Options& options,
            const model::FindingsFile& file) {
  std::error_code ignored;
  const std::string path = std::filesystem::absolute(arguments.prepare, ignored).string();
  const auto sites = validate::sites_file(options, file);
  if (!sites) return fail(sites.error(), kCannotRun);
  if (const Status kept = write_file(path, sites.value()); !kept) return fail(kept.error());
  std::string command;
  for (const auto& [name, value] :
       options.target.environment("validate", {"validate_sites=" + path}))
    command += name + "=" + shell_quoted({value}) + " ";
  std::printf("%s%s\n", command.c_str(), shell_quoted(arguments.trials.program).c_str());
  return 0;
}

int run_validate(ValidateArguments& arguments) {
  if (arguments.trials.program.empty() == (arguments.process == 0))
    return fail({"give a program after --, or --attach PID", "not both"});
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  pipeline::settle_paths(arguments.trials);
  auto candidates = model::read_candidates(arguments.input);
  if (!candidates) return fail(candidates.error());
  model::FindingsFile& file = candidates->file;
  auto options = options_from(arguments);
  if (!options) return fail(options.error(), kCannotRun);
  if (candidates->listed) model::set_program(file, options->binaries.at(0));
  if (!arguments.prepare.empty()) return prepare(arguments, *options, file);
  const auto work = WorkFolder::create();
  if (!work) return fail(work.error(), kCannotRun);
  options->work = work.value()->path();
  options->time = TimeBudget(arguments.trials.time_s);
  options->repeat =
      "deadheat validate " + shell_quoted({arguments.input}) +
      (arguments.process != 0 ? " --attach PID" : " -- " + shell_quoted(arguments.trials.program));
  CampaignStatus status;
  options->progress = [&](const confirm::Progress& progress) { status.update(progress); };
  options->say = [&](const std::string& line) { status.say(line); };
  if (arguments.ask) options->ask = ask_whether_it_misbehaved;
  options->stopped = [] { return pipeline::StopSignals::stopped(); };
  const pipeline::StopSignals signals;
  auto outcome = arguments.process != 0
                     ? validate::attach(*options, static_cast<pid_t>(arguments.process), file)
                     : validate::run(*options, file);
  status.end();
  if (!outcome) return fail(outcome.error(), kCannotRun);
  add_origin(file, arguments, *outcome);
  std::fprintf(stderr, "deadheat: %s%s\n", status_words(outcome->progress).c_str(),
               outcome->stopped       ? "; stopped"
               : outcome->out_of_time ? "; out of time"
                                      : "");
  arguments.output.fails = arguments.trials.fails();
  return exit_code(emit(file, arguments.output), outcome->stopped ? int{kInterrupted} : 0);
}

void add_steering_options(CLI::App& app, ValidateArguments& arguments) {
  const auto add = [&](const char* name, double& value, const char* help, const char* unit) {
    app.add_option(name, value, help)->type_name(unit)->check(CLI::Range(0.0, 60000.0));
  };
  add("--tau", arguments.tau_ms, "how long a thread is held back at first", "MS");
  add("--tau-step", arguments.tau_step_ms, "after each time-out so much longer", "MS");
  add("--tau-most", arguments.tau_most_ms, "and at most so long", "MS");
  add("--bound", arguments.bound_ms, "bytes are watched for at most so long", "MS");
  app.add_option("--budget", arguments.budget_percent,
                 "share of the time for slow paths and waits; 0: no limit (with --attach: 2)")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  add("--standstill", arguments.standstill_ms,
      "a thread is held back for at most so long in a second; 0: no limit (with --attach: the "
      "largest tau)",
      "MS");
  app.add_flag("--no-steering", arguments.no_steering, "only watch; hold no thread back");
}

}  // namespace

Verb validate_verb() {
  return {
      "validate", "validate candidates inside a program that was built for them",
      "deadheat validate candidates.json --findings verdicts.json -- ./server --port 8080",
      [](CLI::App& app) {
        auto arguments = std::make_shared<ValidateArguments>();
        app.add_option(
               "findings", arguments->input,
               "findings.json with candidates, or a plain list of FILE:LINE pairs; it stays "
               "as it is, see --findings")
            ->type_name("FINDINGS")
            ->required();
        app.add_option("program", arguments->trials.program,
                       "the program, built with deadheat-cc --candidates (or, dearer, with plain "
                       "deadheat-cc), and its arguments, after --")
            ->type_name("PROGRAM");
        app.add_option("--attach", arguments->process, "validate in this process, which runs")
            ->type_name("PID");
        app.add_option("--prepare", arguments->prepare,
                       "for a program that was built with plain deadheat-cc (gcc or clang) and is "
                       "to be attached to: write the file that it must be started with, and print "
                       "the command that starts it")
            ->type_name("FILE");
        app.add_option("--library", arguments->libraries,
                       "a library that the program loads by itself, built in the same way; "
                       "repeatable")
            ->type_name("FILE")
            ->allow_extra_args(false)
            ->take_all();
        app.add_option("--runs", arguments->runs, "at most so many executions or rounds; 0: all")
            ->type_name("N");
        app.add_option("--at-once", arguments->jobs_at_once, "jobs in one execution")
            ->type_name("N")
            ->check(CLI::Range(1, 16));
        add_steering_options(app, *arguments);
        TrialOptions& trials = arguments->trials;
        trials.undisturbed = 2;
        app.add_option("--time", trials.time_s, "at most so long in all; 0: no limit")
            ->type_name("SECONDS")
            ->check(CLI::Range(0.0, 1e9));
        app.add_option("--timeout", trials.timeout_s,
                       "an execution that takes longer hangs; 0: never")
            ->type_name("SECONDS")
            ->check(CLI::Range(0.0, 1e9));
        app.add_flag("--ask", arguments->ask,
                     "at an interrupt, ask whether the program misbehaved (a hang, say), and keep "
                     "the answer with the order that was tried");
        app.add_option("--undisturbed", trials.undisturbed,
                       "runs without interference, to compare exit status and output with")
            ->type_name("N")
            ->check(CLI::Range(1, 10000));
        app.add_option("--checker", trials.checker,
                       "a command that is given OUTPUT ERRORS STATUS FOLDER, fails if wrong")
            ->type_name("COMMAND");
        app.add_option("--input", trials.input, "a file for the program's standard input")
            ->type_name("FILE");
        app.add_option("--directory", trials.directory, "run the program there (default: here)")
            ->type_name("FOLDER");
        app.add_option("--only", trials.only, "try only this finding (DH-...); repeatable")
            ->type_name("ID")
            ->allow_extra_args(false)
            ->take_all();
        add_output_options(app, arguments->output);
        return std::function<int()>([arguments, &app] {
          be_gentle(*arguments, app);
          return run_validate(*arguments);
        });
      }};
}

}  // namespace deadheat::apps
