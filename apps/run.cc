// deadheat run: runs a program and says which of its accesses raced, while it runs and at the end.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/output.h"
#include "apps/runtime_options.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/pipeline/detect.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"

namespace deadheat::apps {
namespace {

struct RunArguments {
  pipeline::DetectOptions detect;
  double timeout_s = 0;
  OutputOptions output;
};

constexpr size_t kMostLines = 50;  // of races during the run; the report has all

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

int not_checked(const pipeline::DetectRun& run, const pipeline::Ended& ended) {
  fail(run.why_not_started());
  if (ended.timed_out) return kTimedOut;
  return ended.code != 0 ? ended.code : int{kCannotRun};
}

int run_program(RunArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  for (const std::string& option : arguments.detect.options)
    if (const Status status = check_runtime_option(option); !status) return fail(status.error());
  for (std::string& file : pipeline::tsan_suppressions())
    arguments.output.suppressions.push_back(std::move(file));
  auto prepared = pipeline::DetectRun::prepare(arguments.detect);
  if (!prepared) return fail(prepared.error(), kCannotRun);
  pipeline::DetectRun& run = *prepared.value();
  LiveLines lines;
  pipeline::Launch what;
  what.command = arguments.detect.program;
  what.timeout_s = arguments.timeout_s;
  what.environment = run.environment();
  what.poll = [&] { lines.show(run.poll()); };
  int code = kCannotRun;
  const auto ended = pipeline::launch(what, code);
  if (!ended) return fail(ended.error(), code);
  lines.show(run.poll());
  if (!run.started()) return not_checked(run, ended.value());
  if (ended.value().timed_out)
    say("%s did not end within %g seconds\n", arguments.detect.program[0].c_str(),
        arguments.timeout_s);
  arguments.output.built_in_suppressions = run.findings().built_in_suppressions();
  return exit_code(emit(run.finish(), arguments.output),
                   ended.value().timed_out ? int{kTimedOut} : ended.value().code);
}

void add_run_options(CLI::App& app, RunArguments& arguments) {
  app.positionals_at_end();
  app.add_option("program", arguments.detect.program,
                 "the program and its arguments, after -- or not")
      ->type_name("PROGRAM")
      ->required();
  app.add_option("--missing", arguments.detect.missing,
                 "calls into code that is not instrumented: order what they reach (rdit, as "
                 "without this option), nothing (ignore) or everything (naive)")
      ->check(CLI::IsMember({"ignore", "naive", "rdit"}));
  app.add_option("--memory-limit", arguments.detect.memory_limit_mb,
                 "megabytes; past it detection forgets, counted; 0: no limit")
      ->type_name("MB")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--option", arguments.detect.options,
                 "an option of the runtime, such as history_size=5; --option help=1 lists them")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--halt-on-error", arguments.detect.halt_on_error,
               "end the program at its first race");
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
