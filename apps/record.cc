// deadheat record: runs a program and writes what its threads did to a trace for `analyze`.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/launch.h"
#include "apps/runtime_options.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/trace/open.h"
#include "lib/trace/summary.h"

namespace deadheat::apps {
namespace {

struct RecordArguments {
  std::vector<std::string> program, options;
  std::string output = "deadheat.dht";
  double timeout_s = 0;
};

// The runtime appends: what an earlier run left would become part of this one. Only something that
// is a trace, or empty, is removed without asking.
Status make_room(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return Ok{};
  const Error refused{path + " exists and is not a trace", "name another file with -o"};
  if (!S_ISREG(info.st_mode)) return refused;
  if (info.st_size > 0) {
    const auto opened = trace::open_any_trace(path);
    if (!opened || opened.value().format != trace::TraceFormat::kContainer) return refused;
  }
  if (::unlink(path.c_str()) != 0) return errno_error("cannot replace", path, errno);
  return Ok{};
}

int nothing_recorded(const RecordArguments& arguments, const Ended& ended) {
  const std::string& program = arguments.program[0];
  const bool built = live::instrumented(live::find_program(program)) == live::Instrumented::kYes;
  fail(built ? Error{program + " is instrumented, but nothing was recorded",
                     "deadheat verify " + program}
             : Error{program + " is not instrumented: nothing was recorded",
                     "build it with CC=deadheat-cc CXX=deadheat-c++"});
  if (ended.timed_out) return kTimedOut;
  return ended.code != 0 ? ended.code : int{kCannotRun};
}

int summarize_trace(const RecordArguments& arguments, const Ended& ended) {
  auto opened = trace::open_any_trace(arguments.output);
  if (!opened) return nothing_recorded(arguments, ended);
  const auto summary = trace::summarize(*opened);
  if (!summary) return fail(summary.error());
  if (summary.value().events == 0) return nothing_recorded(arguments, ended);
  for (const std::string& problem : summary.value().problems) say("warning: %s\n", problem.c_str());
  std::fprintf(
      stderr, "deadheat: %s: %s events, %s bytes (%.2f bytes an event); deadheat analyze %s\n",
      arguments.output.c_str(), with_thousands(summary.value().events).c_str(),
      with_thousands(summary.value().bytes).c_str(),
      static_cast<double>(summary.value().bytes) / static_cast<double>(summary.value().events),
      shell_quoted({arguments.output}).c_str());
  return ended.timed_out ? int{kTimedOut} : ended.code;
}

int run_record(const RecordArguments& arguments) {
  for (const std::string& option : arguments.options)
    if (const Status status = check_runtime_option(option); !status) return fail(status.error());
  const auto folder = runtime_folder("record");
  if (!folder) return fail(folder.error(), kCannotRun);
  std::error_code error;
  const std::string path = std::filesystem::absolute(arguments.output, error).string();
  if (const Status room = make_room(path); !room) return fail(room.error());
  std::vector<std::string> settings = arguments.options;
  settings.push_back("trace_path=" + path);
  Launch what;
  what.command = arguments.program;
  what.timeout_s = arguments.timeout_s;
  what.environment["LD_LIBRARY_PATH"] = library_path(folder.value());
  what.environment["DEADHEAT_OPTIONS"] = runtime_environment(settings);
  int code = kCannotRun;
  const auto ended = launch(what, code);
  if (!ended) return fail(ended.error(), code);
  return summarize_trace(arguments, ended.value());
}

}  // namespace

Verb record_verb() {
  return {
      "record", "run a program and write a trace of it for analyze",
      "deadheat record -o server.dht -- ./server --port 8080", [](CLI::App& app) {
        auto arguments = std::make_shared<RecordArguments>();
        app.positionals_at_end();
        app.add_option("program", arguments->program,
                       "the program and its arguments, after -- or not")
            ->type_name("PROGRAM")
            ->required();
        app.add_option("-o,--output", arguments->output, "the trace to write")->type_name("FILE");
        app.add_option("--option", arguments->options,
                       "an option of the runtime, such as trace_limit_mb=1000")
            ->type_name("KEY=VALUE")
            ->allow_extra_args(false)
            ->take_all();
        app.add_option("--timeout", arguments->timeout_s, "end the program after so long; 0: never")
            ->type_name("SECONDS")
            ->check(CLI::Range(0.0, 1e9));
        return std::function<int()>([arguments] { return run_record(*arguments); });
      }};
}

}  // namespace deadheat::apps
