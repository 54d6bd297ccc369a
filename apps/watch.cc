// deadheat watch: collisions of threads in an unmodified program, started or already running.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "apps/output.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "apps/watch_kernel.h"
#include "lib/base/text.h"
#include "lib/model/candidate_list.h"
#include "lib/places/places.h"
#include "lib/sampler/backend/ptrace/guard.h"
#include "lib/sampler/backend/ptrace/ptrace_backend.h"
#include "lib/sampler/code/suspects.h"
#include "lib/sampler/findings/announce.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/session/session.h"

namespace deadheat::apps {
namespace {

using sampler::PtraceBackend;

struct WatchArguments {
  std::vector<std::string> program;
  int process = 0;
  std::string budget = "3%";
  double delay_ms = 0.5;
  double standstill_ms = -1;  // -1: not given
  std::string candidates, vmlinux;
  bool kernel = false, stop_at_first = false;
  const CLI::Option* delay = nullptr;  // whether it was given
  sampler::SessionOptions session;
  OutputOptions output;
};

struct Watched {
  std::unique_ptr<PtraceBackend> backend;
  sampler::SessionResult result;
  Error error;
  int code = kCannotRun;
};

Result<double> share_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  const double share = rest == "%" ? value / 100 : value;
  if (end == text.c_str() || (!rest.empty() && rest != "%") || !(share > 0) || share > 1)
    return Error{"--budget " + text + " is no share of the run time", "as in --budget 3%"};
  return share;
}

sampler::WatchIdentity identity_of(const WatchArguments& arguments) {
  const std::string process = std::to_string(arguments.process);
  std::vector<std::string> target = {"-p", process};
  if (!arguments.program.empty()) {
    target = {"--"};
    target.insert(target.end(), arguments.program.begin(), arguments.program.end());
  }
  return sampler::make_identity(
      {"--budget", arguments.budget}, arguments.session, arguments.candidates, target,
      arguments.program.empty() ? "process " + process : join(arguments.program, " "));
}

// ptrace belongs to a thread: this one does all the work, and its end releases the rest.
void watch_target(WatchArguments& arguments, Watched& watched) {
  auto backend = arguments.program.empty() ? PtraceBackend::attach(arguments.process)
                                           : PtraceBackend::start(arguments.program, watched.code);
  if (!backend) {
    watched.error = backend.error();
    return;
  }
  watched.backend = std::move(backend).value();
  sampler::SessionOptions options = arguments.session;
  // A running target gets signals and starts threads meanwhile, which would be delayed.
  options.first_patience_ms = arguments.program.empty() ? 50 : 500;
  options.chosen = [](const std::string& path) { return !places::is_runtime_module(path); };
  sampler::Announcer lines([](const std::string& line) { say("%s\n", line.c_str()); });
  options.found = [&](const auto& collision, const auto& modules, double seconds) {
    lines.add(collision, modules, seconds);
  };
  sampler::Session session(*watched.backend, options);
  watched.result = session.run();
  watched.backend->detach();
}

void say_figures(const sampler::SessionResult& result, const std::string& budget) {
  say("watched %.1f s: %s of %s instructions seen to run, %s samples (%.0f/s), "
      "%.2f%% of the run time taken (budget %s)\n",
      result.seconds, with_thousands(result.running).c_str(), with_thousands(result.sites).c_str(),
      with_thousands(result.samples).c_str(),
      result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds : 0.0,
      result.used * 100, budget.c_str());
  if (result.alone)
    say("it had one thread whenever it was looked at: nothing could collide "
        "(child processes are watched with -p)\n");
}

// A request to end that reached only us also ends the program that we started.
int end_of_program(const PtraceBackend& backend, const sampler::SessionResult& result) {
  if (result.interrupted && !backend.asked_by_person())
    ::kill(backend.process(), backend.asked_by());
  return const_cast<PtraceBackend&>(backend).wait_for_end();
}

// In the guarded child.
int watch_here(WatchArguments& arguments) {
  Watched watched;
  std::thread([&] { watch_target(arguments, watched); }).join();
  if (!watched.backend) return fail(watched.error, watched.code);
  const sampler::SessionResult& result = watched.result;
  const int code = arguments.program.empty() ? 0 : end_of_program(*watched.backend, result);
  say_figures(result, arguments.budget);
  if (watched.backend->registers_taken()) {
    fail({"not watched to the end: somebody else has the debug registers of process " +
              std::to_string(watched.backend->process()),
          "end what uses hardware breakpoints on it (perf record -e mem:..., say)"});
    if (result.collisions.empty()) return code != 0 ? code : int{kCannotRun};
  }
  if (result.sites == 0 && result.collisions.empty()) {
    if (!result.problem.empty())
      fail({"nothing to watch: " + result.problem, ""});
    else if (result.not_decoded > 0)
      fail({"nothing was watched: it was over before its instructions were read", ""});
    else
      fail({"nothing to watch: no instruction of the chosen code accesses shared memory",
            "--modules and --functions choose; without them, all but the C and C++ libraries"});
    return code != 0 ? code : int{kCannotRun};
  }
  return exit_code(emit(sampler::to_findings(result, identity_of(arguments)), arguments.output),
                   code);
}

int run_kernel(const WatchArguments& arguments, double share) {
  if (!arguments.program.empty() || arguments.process != 0)
    return fail({"--kernel watches the kernel as a whole, not one program",
                 "start the load beside it: ./load & deadheat watch --kernel --time 60"});
  KernelWatch wanted;
  wanted.session.functions = arguments.session.functions;
  wanted.session.modules = arguments.session.modules;
  wanted.session.seconds = arguments.session.seconds;
  wanted.session.seed = arguments.session.seed;
  wanted.session.budget = share;
  if (arguments.delay->count() > 0)
    wanted.session.delay_ns = static_cast<uint64_t>(arguments.delay_ms * 1e6);
  wanted.session.stop_at_first = arguments.stop_at_first;
  wanted.vmlinux = arguments.vmlinux;
  wanted.candidates = arguments.candidates;
  return watch_kernel(wanted, arguments.output);
}

int run_watch(WatchArguments& arguments) {
  if (const Status usable = check_output(arguments.output); !usable) return fail(usable.error());
  if (arguments.kernel) {
    const auto share = share_of(arguments.budget);
    return share ? run_kernel(arguments, share.value()) : fail(share.error());
  }
  if (arguments.program.empty() == (arguments.process == 0))
    return fail({"watch what? give a program after --, or -p PID",
                 "deadheat watch -- ./program, or deadheat watch -p 4711"});
  const auto share = share_of(arguments.budget);
  if (!share) return fail(share.error());
  arguments.session.budget = share.value();
  arguments.session.delay_ns = static_cast<uint64_t>(arguments.delay_ms * 1e6);
  // Attaching means a service that others wait for; starting a program means a search for races.
  constexpr double kAttachedMs = 5;
  if (arguments.standstill_ms < 0)
    arguments.standstill_ms =
        arguments.program.empty() ? std::max(kAttachedMs, arguments.delay_ms * 2) : 0;
  arguments.session.standstill_ns = static_cast<uint64_t>(arguments.standstill_ms * 1e6);
  if (arguments.standstill_ms > 0 && arguments.standstill_ms < arguments.delay_ms / 2)
    return fail({"--standstill below half of --delay allows no sample",
                 "as in --standstill 5, or 0 for no bound"});
  if (!arguments.candidates.empty()) {
    auto candidates = model::read_candidates(arguments.candidates);
    if (!candidates) return fail(candidates.error());
    const auto suspects = std::make_shared<sampler::Suspects>(candidates->file);
    arguments.session.suspected = [suspects](const sampler::ModuleCode& code) {
      return suspects->in(code);
    };
  }
  return sampler::run_guarded(arguments.program.empty(), [&] { return watch_here(arguments); });
}

void add_watch_options(CLI::App& app, WatchArguments& arguments) {
  app.positionals_at_end();
  app.add_option("program", arguments.program, "the program and its arguments, after -- or not")
      ->type_name("PROGRAM");
  app.add_option("-p,--pid", arguments.process,
                 "watch this running process; it continues afterwards")
      ->type_name("PID")
      ->check(CLI::PositiveNumber);
  app.add_flag("--kernel", arguments.kernel,
               "watch the Linux kernel itself, with the module of kernel/kmod; as root");
  app.add_flag("--stop-at-first", arguments.stop_at_first,
               "with --kernel: end when two threads were caught");
  app.add_option("--vmlinux", arguments.vmlinux,
                 "with --kernel: its image with debug information, for lines; without it, that of "
                 "the debug package")
      ->type_name("FILE");
  app.add_option("--budget", arguments.budget, "share of the run time that may be taken")
      ->type_name("SHARE");
  app.add_option("--time", arguments.session.seconds,
                 "how long to watch; 0: until the program ends, or Ctrl-C")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--functions", arguments.session.functions,
                 "only functions whose name matches, as in 'pipe_*'; repeatable")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--modules,--module", arguments.session.modules,
                 "only files whose path or name matches; without it, all but the C and C++ "
                 "libraries; of the kernel: modules, and vmlinux")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--candidates", arguments.candidates,
                 "findings.json of another finder, or a plain list of FILE:LINE pairs: half of the "
                 "breakpoints go to its sites")
      ->type_name("FINDINGS");
  arguments.delay =
      app.add_option(
             "--delay", arguments.delay_ms,
             "milliseconds for which a thread is held before its access, on average; in the "
             "kernel 0.1, at most 2")
          ->type_name("MS")
          ->check(CLI::Range(0.01, 1000.0));
  app.add_option(
         "--standstill", arguments.standstill_ms,
         "milliseconds for which one thread may be held in one second, whatever the budget; "
         "0: no bound; without it, 5 with -p and no bound for a program that is started")
      ->type_name("MS")
      ->check(CLI::Range(0.0, 1000.0));
  app.add_option("--seed", arguments.session.seed, "of the choice of instructions");
}

}  // namespace

Verb watch_verb() {
  return {"watch", "catch threads at one place at one time in an unmodified program",
          "deadheat watch --time 60 -p 4711", [](CLI::App& app) {
            auto arguments = std::make_shared<WatchArguments>();
            arguments->output.standard = OutputOptions::Standard::kError;
            add_watch_options(app, *arguments);
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_watch(*arguments); });
          }};
}

}  // namespace deadheat::apps
