// deadheat record: runs a program and writes its threads' events to a trace for `analyze`.
#include "lib/pipeline/record.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/runtime_options.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/pipeline/launch.h"
#include "lib/trace/open.h"
#include "lib/trace/summary.h"

namespace deadheat::apps {
namespace {

struct RecordArguments {
  std::vector<std::string> program, options;
  std::string output = "deadheat.dht";
  double timeout_s = 0;
};

int nothing_recorded(const RecordArguments& arguments, const pipeline::Ended& ended) {
  const std::string& program = arguments.program[0];
  const bool built = live::instrumented(find_program(program)) == live::Instrumented::kYes;
  const std::filesystem::path folder = std::filesystem::path(arguments.output).parent_path();
  const std::string full = why_full(folder.empty() ? "." : folder.string());
  fail(built ? Error{program + " is instrumented, but nothing was recorded",
                     full.empty() ? "deadheat verify " + program : full}
             : Error{program + " is not instrumented: nothing was recorded",
                     "build it with CC=deadheat-cc CXX=deadheat-c++"});
  if (ended.timed_out) return kTimedOut;
  return ended.code != 0 ? ended.code : int{kCannotRun};
}

int summarize_trace(const RecordArguments& arguments, const pipeline::Ended& ended) {
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
  if (const auto there = pipeline::runtime_folder("record"); !there)
    return fail(there.error(), kCannotRun);
  auto environment = pipeline::prepare_recording(arguments.output, arguments.options);
  if (!environment) return fail(environment.error());
  pipeline::Launch what;
  what.command = arguments.program;
  what.timeout_s = arguments.timeout_s;
  what.environment = std::move(environment).value();
  int code = kCannotRun;
  const auto ended = pipeline::launch(what, code);
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
