// deadheat scan: race candidates of a whole program, from the bitcode in it. deadheat-scan, the
// only program linked with LLVM, does the work; this file starts it and reports.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <optional>

#include "apps/output.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/work_folder.h"
#include "lib/model/identity.h"
#include "lib/model/json.h"
#include "lib/pipeline/scanner.h"

namespace deadheat::apps {
namespace {

struct ScanArguments {
  std::vector<std::string> inputs, models, entries;
  std::string facts, explain;
  uint64_t contexts = 12, inline_size = 40, most_checks = 2'000'000;
  std::optional<uint64_t> pointer_work;
  double time_s = 300;
  bool merge_locks = false, no_own_objects = false, no_unpublished = false, no_cache = false;
  OutputOptions output;
};

std::vector<std::string> command_of(const ScanArguments& arguments, const std::string& findings) {
  std::vector<std::string> words = {pipeline::scanner(), "--findings", findings};
  const auto add = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  for (const std::string& model : arguments.models) add("--models", model);
  for (const std::string& entry : arguments.entries) add("--entry", entry);
  if (!arguments.facts.empty()) add("--facts", arguments.facts);
  add("--contexts", std::to_string(arguments.contexts));
  add("--inline", std::to_string(arguments.inline_size));
  add("--most-checks", std::to_string(arguments.most_checks));
  if (arguments.pointer_work) add("--pointer-work", std::to_string(*arguments.pointer_work));
  add("--time", std::to_string(arguments.time_s));
  if (arguments.merge_locks) words.emplace_back("--merge-locks");
  if (arguments.no_own_objects) words.emplace_back("--no-own-objects");
  if (arguments.no_unpublished) words.emplace_back("--no-unpublished");
  if (const std::string cache = pipeline::scan_cache(); !arguments.no_cache && !cache.empty())
    add("--cache", cache);
  words.insert(words.end(), arguments.inputs.begin(), arguments.inputs.end());
  return words;
}

// Returns its status; 128+n for a signal.
Result<int> run_scanner(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return errno_error("cannot run", words[0], errno);
  if (child == 0) {
    ::execv(argv[0], argv.data());
    ::_exit(kCannotRun);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Keeps only the finding with this display id: shows in full how it was concluded.
int explain(model::FindingsFile& file, ScanArguments& arguments) {
  std::erase_if(file.findings, [&](const model::Finding& finding) {
    return model::display_id(finding.candidate) != arguments.explain;
  });
  if (file.findings.empty())
    return fail({"no candidate is called " + arguments.explain, "the report names each: DH-..."});
  return emit(file, arguments.output);
}

int run_scan(ScanArguments& arguments) {
  if (const Status there = pipeline::check_scanner(); !there)
    return fail(there.error(), kCannotRun);
  const auto work = WorkFolder::create();
  if (!work) return fail(work.error(), kCannotRun);
  const std::string path = work.value()->path() + "/scan.json";
  const auto status = run_scanner(command_of(arguments, path));
  if (!status) return fail(status.error(), kCannotRun);
  if (status.value() > 128)
    return fail({"the scan was ended by signal " + std::to_string(status.value() - 128),
                 "more memory, or fewer inputs"},
                kCannotRun);
  if (status.value() != 0) return status.value();
  auto file = model::read_findings(path);
  if (!file) return fail(file.error(), kCannotRun);
  file->origins.at(0).arguments = arguments.inputs;
  // A scan that was cut short never looks like a pass: 75, and the last line says what was left.
  arguments.output.fail_on.emplace_back("incomplete");
  return arguments.explain.empty() ? emit(*file, arguments.output) : explain(*file, arguments);
}

void add_choices(CLI::App& app, ScanArguments& arguments) {
  app.add_option("--contexts", arguments.contexts,
                 "ways to reach a function that are distinguished; more are merged")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--inline", arguments.inline_size,
                 "functions of up to so many instructions become part of their callers")
      ->type_name("N")
      ->check(CLI::Range(0, 10000));
  app.add_option("--most-checks", arguments.most_checks,
                 "pairs of accesses to one object that are compared; more are counted")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option(
         "--pointer-work", arguments.pointer_work,
         "steps after which pointers are followed in a coarser way, which adds candidates and "
         "misses none")
      ->type_name("N");
  app.add_option(
         "--time", arguments.time_s,
         "processor time in seconds after which steps are cut short: what is left out is said, and "
         "the exit status is 75; 0: none")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  app.add_flag("--merge-locks", arguments.merge_locks,
               "locks from one allocation site count as one lock");
  app.add_flag("--no-own-objects", arguments.no_own_objects,
               "do not assume that an object made for one thread belongs to it");
  app.add_flag(
      "--no-unpublished", arguments.no_unpublished,
      "do not assume that memory is private until its address is stored where other threads "
      "can see it");
  app.add_flag("--no-cache", arguments.no_cache,
               "analyse anew, and keep no result, also if the program has not changed since");
}

}  // namespace

Verb scan_verb() {
  return {
      "scan", "list pairs of accesses that may race, without running the program",
      "deadheat scan ./server --findings candidates.json -o report.html", [](CLI::App& app) {
        auto arguments = std::make_shared<ScanArguments>();
        app.add_option("inputs", arguments->inputs,
                       "a program or library built with deadheat-cc --scan, objects, archives, "
                       "bitcode files, "
                       "or compile_commands.json")
            ->type_name("PROGRAM")
            ->required();
        app.add_option("--models", arguments->models,
                       "what library functions do, see docs/guides/scan.md")
            ->type_name("FILE")
            ->allow_extra_args(false)
            ->take_all();
        app.add_option(
               "--entry", arguments->entries,
               "a function of a library that may run in parallel with itself and the other entries "
               "(without it and without main: all that is exported)")
            ->type_name("FUNCTION")
            ->allow_extra_args(false)
            ->take_all();
        app.add_option("--facts", arguments->facts,
                       "also write which accesses were proven race-free")
            ->type_name("FILE");
        app.add_option("--explain", arguments->explain, "show only the candidate with this name")
            ->type_name("DH-...");
        add_choices(app, *arguments);
        arguments->output.fails = report::FailOn::kRace;  // suspicions fail only if asked
        add_output_options(app, arguments->output);
        return std::function<int()>([arguments] { return run_scan(*arguments); });
      }};
}

}  // namespace deadheat::apps
