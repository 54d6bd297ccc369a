// deadheat check: the whole job in one command. Find (a detecting run, and the hybrid engine over a
// recorded one), confirm each candidate by scheduling, judge what it does, report.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/campaign_status.h"
#include "apps/launch.h"
#include "apps/output.h"
#include "apps/trials.h"
#include "apps/verb.h"
#include "apps/work_folder.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/json.h"

namespace deadheat::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kFindTimeout_s = 120, kCheckTime_s = 600;
struct CheckArguments {
  TrialOptions trials;
  bool orders = false;
  std::string keep = "deadheat-check";
  OutputOptions output;
};

std::string self_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

// A step of ours that runs the program: its output is kept out of the way.
struct Step {
  int status = 0;
  std::string errors;
};

Result<Step> run_step(const std::string& work, const TrialOptions& options,
                      const std::vector<std::string>& words) {
  campaign::Children children;
  campaign::ChildRequest request;
  request.command = words;
  request.directory = options.directory;
  request.input = options.input;
  request.folder = work + "/step";
  request.keep_output = false;  // a program that prints without end is not ended for it
  std::error_code error;
  fs::create_directory(request.folder, error);
  if (const Status started = children.start(0, request); !started) return started.error();
  std::vector<campaign::Children::Ended> ended;
  while (ended.empty()) {
    if (StopSignals::stopped()) return Error{"stopped before anything was found", ""};
    ended = children.wait(100);
  }
  const campaign::ChildResult& result = ended[0].result;
  if (result.too_much_output)
    return Error{"the program wrote more than " +
                     std::to_string(campaign::Children::kMostOutput >> 20) +
                     " MiB to standard error and was ended",
                 "2>/dev/null in a script around it"};
  auto errors = read_file(request.folder + "/err");
  return Step{result.signal != 0 ? 128 + result.signal : result.status,
              errors ? std::move(errors).value() : ""};
}

// Our own lines among what the program wrote to standard error.
void show_own_lines(const std::string& errors) {
  for (const std::string_view line : split(errors, '\n'))
    if (line.starts_with("deadheat: ") || line.starts_with("  hint: "))
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

bool is_source(const fs::path& path) {
  for (const char* extension : {".c", ".cc", ".cpp", ".cxx"})
    if (path.extension() == extension) return true;
  return false;
}

// The source that a word means, or nothing: the word itself, or the word without its ending.
std::string source_of(const std::string& word) {
  std::error_code error;
  if (is_source(word) && fs::is_regular_file(word, error)) return word;
  if (fs::is_regular_file(word, error)) return {};
  for (const char* extension : {".c", ".cc", ".cpp", ".cxx"})
    if (fs::is_regular_file(word + extension, error)) return word + extension;
  return {};
}

// Builds a source file into the folder that is kept.
Result<std::string> build(const std::string& source, const CheckArguments& arguments,
                          const std::string& work) {
  const std::string program =
      fs::absolute(fs::path(arguments.keep) / fs::path(source).stem()).string();
  const bool is_c = fs::path(source).extension() == ".c";
  const std::vector<std::string> words = {self_folder() + (is_c ? "/deadheat-cc" : "/deadheat-c++"),
                                          "-g",
                                          "-O1",
                                          "-pthread",
                                          fs::absolute(source).string(),
                                          "-o",
                                          program};
  std::fprintf(stderr, "deadheat: building %s\n", source.c_str());
  auto step = run_step(work, {}, words);
  if (!step) return step.error();
  if (step->status == 0) return program;
  std::fputs(step->errors.c_str(), stderr);
  return Error{source + " does not build", ""};
}

// What a finder left, added to the file. What it says of the trace is forgotten with the trace.
Status add_found(const std::string& path, const TrialOptions& options, const std::string& work,
                 model::FindingsFile& file) {
  auto found = model::read_findings(path);
  if (!found) return found.error();
  for (model::Origin& origin : found->origins) {
    origin.input = shell_quoted(options.program);
    file.origins.push_back(std::move(origin));
  }
  for (model::Finding& finding : found->findings) {
    for (model::Evidence& evidence : finding.evidence)
      if (evidence.repeat.find(work) != std::string::npos) evidence.repeat.clear();
    model::add_finding(file, std::move(finding));
  }
  return Ok{};
}

std::vector<std::string> with_program(std::vector<std::string> words,
                                      const std::vector<std::string>& program) {
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

struct Found {
  model::FindingsFile file;
  int status = 0;   // of the program, where nothing was found
  bool ran = true;  // false: nothing was checked, and why was said
};

// What an engine finds in the recording.
Status analyze(const std::string& engine, const TrialOptions& options, const std::string& work,
               model::FindingsFile& file) {
  const std::string path = work + "/" + engine + ".json";
  auto step =
      run_step(work, {},
               {self_folder() + "/deadheat", "analyze", "--engine", engine, work + "/trace.dht",
                "--findings", path, "--format", "json", "-o", work + "/report.json"});
  if (!step) return step.error();
  std::error_code error;
  if (fs::exists(path, error)) return add_found(path, options, work, file);
  show_own_lines(step->errors);  // the run's findings are still worth confirming
  return Ok{};
}

Result<Found> find_races(const TrialOptions& options, bool orders, const std::string& work) {
  const std::string self = self_folder() + "/deadheat";
  const double limit = options.timeout_s > 0 ? options.timeout_s : kFindTimeout_s;
  const std::string timeout = std::to_string(limit);
  const std::string run = work + "/run.json", trace = work + "/trace.dht";
  Found found;
  std::error_code error;
  std::fputs("deadheat: looking for races in a run\n", stderr);
  auto step = run_step(work, options,
                       with_program({self, "run", "--timeout", timeout, "--findings", run,
                                     "--format", "json", "-o", work + "/report.json"},
                                    options.program));
  if (!step) return step.error();
  found.status = step->status;
  if (!fs::exists(run, error)) {
    show_own_lines(step->errors);
    found.ran = false;
    return found;
  }
  if (const Status added = add_found(run, options, work, found.file); !added) return added.error();
  std::fputs("deadheat: looking for candidates in a recording\n", stderr);
  step =
      run_step(work, options,
               with_program({self, "record", "--timeout", timeout, "-o", trace}, options.program));
  if (!step) return step.error();
  if (const Status done = analyze("hybrid", options, work, found.file); !done) return done.error();
  if (!orders) return found;
  if (const Status done = analyze("orders", options, work, found.file); !done) return done.error();
  return found;
}

// Both orders of two locks or atomics are legal: only one that fails is worth a person's time.
void drop_harmless_orders(model::FindingsFile& file) {
  const auto harmless = std::erase_if(file.findings, [](const model::Finding& finding) {
    return finding.candidate.kind == model::CandidateKind::kOrder &&
           model::fold(finding).state != model::VerdictState::kTrueRace;
  });
  file.origins.back().counters.push_back(
      {"orders_without_failure", harmless,
       "pairs of locks or atomics were tried in both orders, or could not be, without failure",
       false});
}

int report(CheckArguments& arguments, const model::FindingsFile& file) {
  OutputOptions& output = arguments.output;
  output.confirmed_only = !arguments.trials.strict;
  const std::string page = arguments.keep + "/report.html";
  const bool own_choice = !output.outputs.empty() || !output.formats.empty();
  if (!own_choice) {
    output.formats = {"text", "html"};
    output.outputs = {"-", page};
  }
  const int verdict = emit(file, output);
  if (!own_choice) std::fprintf(stderr, "deadheat: the same as a page: %s\n", page.c_str());
  return verdict;
}

int run_check(CheckArguments& arguments) {
  const auto work = WorkFolder::create();
  if (!work) return fail(work.error(), kCannotRun);
  std::error_code error;
  fs::create_directories(arguments.keep, error);
  if (error)
    return fail({"cannot make " + arguments.keep + ": " + error.message(), "--keep FOLDER"});
  TrialOptions& trials = arguments.trials;
  settle_paths(trials);
  if (const std::string source = source_of(trials.program[0]); !source.empty()) {
    auto program = build(source, arguments, work.value()->path());
    if (!program) return fail(program.error());
    trials.program[0] = std::move(program).value();
  }
  Result<Found> found = Found{};
  {
    const StopSignals signals;
    found = find_races(trials, arguments.orders, work.value()->path());
    if (!found) return fail(found.error(), StopSignals::stopped() ? kInterrupted : kCannotRun);
  }
  if (!found->ran) return found->status != 0 ? found->status : int{kCannotRun};
  if (arguments.output.findings.empty())
    arguments.output.findings = arguments.keep + "/findings.json";
  fs::remove_all(schedules_folder(arguments.output.findings), error);
  if (found->file.findings.empty()) {
    const int verdict = report(arguments, found->file);
    return verdict != kNothingFound ? verdict : found->status;
  }
  std::fprintf(stderr, "deadheat: confirming %zu\n", found->file.findings.size());
  auto outcome = confirm_findings(found->file, trials, arguments.output.findings, "check");
  if (!outcome) return fail(outcome.error(), kCannotRun);
  std::fprintf(
      stderr, "deadheat: %s%s\n", status_words(outcome->progress).c_str(),
      outcome->stopped || outcome->out_of_time ? "; not finished: deadheat confirm goes on" : "");
  drop_harmless_orders(found->file);
  const int verdict = report(arguments, found->file);
  return verdict == kNothingFound && outcome->stopped ? kInterrupted : verdict;
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
                "--orders", arguments->orders,
                "also try other orders of lock acquisitions and atomic accesses, for failures");
            add_trial_options(app, arguments->trials);
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_check(*arguments); });
          }};
}

}  // namespace deadheat::apps
