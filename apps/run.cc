// deadheat run: runs a program and says which of its accesses raced, while it runs and at the end.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/launch.h"
#include "apps/output.h"
#include "apps/runtime_options.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "apps/work_folder.h"
#include "lib/base/file.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/live/live_findings.h"

namespace deadheat::apps {
namespace {

struct RunArguments {
  std::vector<std::string> program;
  std::string missing;
  uint64_t memory_limit_mb = 0;
  std::vector<std::string> options;
  bool halt_on_error = false;
  double timeout_s = 0;
  OutputOptions output;
};

constexpr size_t kMostLines = 50;  // of races while the program runs; the report has them all

// The file that the runtime's processes append to, in a folder of its own that goes away.
class RawFile {
 public:
  static Result<std::unique_ptr<RawFile>> create() {
    auto folder = WorkFolder::create();
    if (!folder) return folder.error();
    std::unique_ptr<RawFile> file(new RawFile(std::move(folder).value()));
    file->fd_ = ScopedFd(
        ::open(file->path().c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file->fd_.valid()) return errno_error("cannot create", file->path(), errno);
    return file;
  }
  std::string path() const { return folder_->path() + "/raw"; }
  // What was appended since the last call.
  std::string more() {
    std::string bytes;
    char buffer[1 << 16];
    for (ssize_t got; (got = ::read(fd_.get(), buffer, sizeof buffer)) > 0;)
      bytes.append(buffer, static_cast<size_t>(got));
    return bytes;
  }

 private:
  explicit RawFile(std::unique_ptr<WorkFolder> folder) : folder_(std::move(folder)) {}
  std::unique_ptr<WorkFolder> folder_;
  ScopedFd fd_;
};

std::vector<std::string> runtime_settings(const RunArguments& arguments, const std::string& raw) {
  std::vector<std::string> settings = arguments.options;
  if (!arguments.missing.empty()) settings.push_back("missing=" + arguments.missing);
  if (arguments.memory_limit_mb > 0)
    settings.push_back("memory_limit_mb=" + std::to_string(arguments.memory_limit_mb));
  if (arguments.halt_on_error) settings.emplace_back("halt_on_error=1");
  settings.push_back("raw_path=" + raw);
  settings.emplace_back("exitcode=0");
  return settings;
}

live::RunIdentity identity_of(const RunArguments& arguments) {
  live::RunIdentity identity;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  identity.execution =
      "run:" + hex(static_cast<uint64_t>(now)).substr(2) + "-" + std::to_string(::getpid());
  identity.program = arguments.program;
  std::vector<std::string> words = {"deadheat", "run"};
  if (!arguments.missing.empty()) words.insert(words.end(), {"--missing", arguments.missing});
  for (const std::string& option : arguments.options)
    words.insert(words.end(), {"--option", option});
  words.emplace_back("--");
  words.insert(words.end(), arguments.program.begin(), arguments.program.end());
  identity.arguments = {words.begin() + 2, words.end()};
  identity.repeat = shell_quoted(words);
  return identity;
}

class LiveLines {
 public:
  void show(const std::vector<model::Candidate>& fresh) {
    for (const model::Candidate& candidate : fresh) {
      if (++shown_ <= kMostLines) say("race: %s\n", live::one_line(candidate).c_str());
      if (shown_ == kMostLines + 1)
        std::fputs("deadheat: more races; the report at the end has them all\n", stderr);
    }
  }

 private:
  size_t shown_ = 0;
};

// No process said that it started: nothing was checked, and that must not look like a pass.
int not_checked(const RunArguments& arguments, const Ended& ended, const std::string& raw) {
  const std::string& program = arguments.program[0];
  const bool built = live::instrumented(live::find_program(program)) == live::Instrumented::kYes;
  const std::string full = why_full(std::filesystem::path(raw).parent_path());
  const Error why =
      built ? Error{program +
                        " is instrumented, but the runtime did not start in it: nothing was "
                        "checked",
                    full.empty() ? "deadheat verify " + program : full}
            : Error{program + " is not instrumented: nothing was checked",
                    "build it with CC=deadheat-cc CXX=deadheat-c++"};
  fail(why);
  if (ended.timed_out) return kTimedOut;
  return ended.code != 0 ? ended.code : int{kCannotRun};
}

int run_program(RunArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  for (const std::string& option : arguments.options)
    if (const Status status = check_runtime_option(option); !status) return fail(status.error());
  for (std::string& file : tsan_suppressions())
    arguments.output.suppressions.push_back(std::move(file));
  const auto folder = runtime_folder("detect");
  if (!folder) return fail(folder.error(), kCannotRun);
  const auto raw = RawFile::create();
  if (!raw) return fail(raw.error(), kCannotRun);
  live::LiveFindings findings(identity_of(arguments));
  LiveLines lines;
  Launch what;
  what.command = arguments.program;
  what.timeout_s = arguments.timeout_s;
  what.environment["LD_LIBRARY_PATH"] = library_path(folder.value());
  what.environment["DEADHEAT_OPTIONS"] =
      runtime_environment(runtime_settings(arguments, raw.value()->path()));
  what.poll = [&] { lines.show(findings.feed(raw.value()->more())); };
  int code = kCannotRun;
  const auto ended = launch(what, code);
  if (!ended) return fail(ended.error(), code);
  lines.show(findings.feed(raw.value()->more()));
  if (!findings.any_process()) return not_checked(arguments, ended.value(), raw.value()->path());
  if (ended.value().timed_out)
    say("%s did not end within %g seconds\n", arguments.program[0].c_str(), arguments.timeout_s);
  arguments.output.built_in_suppressions = findings.built_in_suppressions();
  return exit_code(emit(findings.finish(), arguments.output),
                   ended.value().timed_out ? int{kTimedOut} : ended.value().code);
}

void add_run_options(CLI::App& app, RunArguments& arguments) {
  app.positionals_at_end();
  app.add_option("program", arguments.program, "the program and its arguments, after -- or not")
      ->type_name("PROGRAM")
      ->required();
  app.add_option("--missing", arguments.missing,
                 "calls into code that is not instrumented: order what they reach (rdit, as "
                 "without this option), nothing (ignore) or everything (naive)")
      ->check(CLI::IsMember({"ignore", "naive", "rdit"}));
  app.add_option("--memory-limit", arguments.memory_limit_mb,
                 "megabytes; past it detection forgets, counted; 0: no limit")
      ->type_name("MB")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--option", arguments.options,
                 "an option of the runtime, such as history_size=5; --option help=1 lists them")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--halt-on-error", arguments.halt_on_error, "end the program at its first race");
  app.add_option("--timeout", arguments.timeout_s, "end the program after so long; 0: never")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
}

}  // namespace

Verb run_verb() {
  return {"run", "run a program and say which of its accesses raced",
          "deadheat run -o report.html -- ./server --port 8080", [](CLI::App& app) {
            auto arguments = std::make_shared<RunArguments>();
            arguments->output.standard = OutputOptions::Standard::kError;
            add_run_options(app, *arguments);
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_program(*arguments); });
          }};
}

}  // namespace deadheat::apps
