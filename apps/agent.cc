// deadheat agent run|on|off|log: the daemon between the hive and the validating programs of a
// machine.
#include "lib/hive/agent/agent.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "apps/hive.h"
#include "apps/say.h"
#include "apps/verb.h"
#include "lib/base/file.h"
#include "lib/base/printable.h"
#include "lib/pipeline/stop_signals.h"

namespace deadheat::apps {
namespace {

struct AgentArguments {
  HiveArguments hive;
  std::string folder;
  std::vector<std::string> programs;
  double tau_most_ms = 200, budget_percent = 2, standstill_ms = 200, spool_mb = 16, dwell_s = 30;
  double cpu_percent = 5, memory_mb = 256;
  bool no_steering = false;
};

Result<std::string> agent_folder(const AgentArguments& arguments) {
  std::string folder = arguments.folder;
  if (folder.empty()) {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    folder = (state != nullptr && *state != 0
                  ? std::string(state)
                  : std::string(home == nullptr ? "." : home) + "/.local/state") +
             "/deadheat/agent";
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{"cannot make " + folder + ": " + error.message(), "--folder FOLDER"};
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return std::filesystem::absolute(folder).string();
}

int run_agent(const AgentArguments& arguments) {
  hive::agent::Options options;
  auto folder = agent_folder(arguments);
  if (!folder) return fail(folder.error(), kCannotRun);
  auto token = token_of(arguments.hive);
  if (!token) return fail(token.error());
  options.folder = *folder;
  options.programs = arguments.programs;
  options.hive.url = arguments.hive.url;
  options.hive.authority = arguments.hive.authority;
  options.hive.most_bytes = 1 << 20;
  options.token = *token;
  options.limits.most_tau_us = static_cast<uint32_t>(arguments.tau_most_ms * 1000);
  options.limits.budget_ppm = static_cast<uint32_t>(arguments.budget_percent * 10'000);
  options.limits.standstill_us = static_cast<uint32_t>(arguments.standstill_ms * 1000);
  options.limits.dwell_ms = static_cast<int64_t>(arguments.dwell_s * 1000);
  options.limits.steer = !arguments.no_steering;
  options.spool_bytes = static_cast<uint64_t>(arguments.spool_mb * 1024 * 1024);
  options.memory_bytes = static_cast<uint64_t>(arguments.memory_mb * 1024 * 1024);
  options.cpu_share = arguments.cpu_percent / 100;
  options.say = [](const std::string& line) { say("agent: %s\n", line.c_str()); };
  const pipeline::StopSignals signals;
  options.stopped = [] { return pipeline::StopSignals::stopped(); };
  say("agent: programs find it with DEADHEAT_OPTIONS=validate_socket=%s/page.socket\n",
      options.folder.c_str());
  const Status done = hive::agent::run(options);
  return done ? static_cast<int>(kNothingFound) : fail(done.error(), kCannotRun);
}

int switch_agent(const AgentArguments& arguments, bool off) {
  auto folder = agent_folder(arguments);
  if (!folder) return fail(folder.error(), kCannotRun);
  const std::string path = *folder + hive::agent::kOffFile;
  if (!off) {
    std::error_code error;
    std::filesystem::remove(path, error);
    return error ? fail({"cannot remove " + path + ": " + error.message(), ""}, kCannotRun) : 0;
  }
  const Status done = write_file(path, "");
  return done ? 0 : fail(done.error(), kCannotRun);
}

int show_log(const AgentArguments& arguments) {
  auto folder = agent_folder(arguments);
  if (!folder) return fail(folder.error(), kCannotRun);
  for (const std::string end : {".1", ""}) {
    const std::string path = *folder + hive::agent::kLogFile + end;
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) continue;
    auto text = read_file(path);
    if (!text) return fail(text.error(), kCannotRun);
    const std::string safe = printable_lines(*text);
    std::fwrite(safe.data(), 1, safe.size(), stdout);
  }
  return kNothingFound;
}

CLI::App* agent_command(CLI::App& app, const char* name, const char* summary,
                        AgentArguments& arguments) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->option_defaults()->always_capture_default();
  sub->set_help_flag("-h,--help", "show this help");
  sub->add_option("--folder", arguments.folder,
                  "where it keeps what it has not sent (default: in the user's state folder)")
      ->type_name("FOLDER");
  return sub;
}

void add_run_options(CLI::App& run, AgentArguments& a) {
  run.add_option("--hive", a.hive.url, "the hive")->type_name("URL")->required();
  run.add_option("--token-file", a.hive.token_file,
                 "a file with an agent's token (default: DEADHEAT_HIVE_TOKEN)")
      ->type_name("FILE");
  run.add_option("--ca", a.hive.authority, "who signed the hive's certificate, in PEM form")
      ->type_name("FILE");
  run.add_option("--program", a.programs,
                 "a program that may take part, built with deadheat-cc --candidates; repeatable")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false)
      ->take_all();
  const auto number = [&](const char* name, double& value, const char* help, const char* unit) {
    run.add_option(name, value, help)->type_name(unit)->check(CLI::Range(0.0, 1e6));
  };
  number("--tau-most", a.tau_most_ms,
         "a thread is held back for at most so long, whatever the hive wishes", "MS");
  number("--budget", a.budget_percent, "share of a program's time for slow paths and waits",
         "PERCENT");
  number("--standstill", a.standstill_ms, "a thread is held back for at most so long in a second",
         "MS");
  number("--dwell", a.dwell_s, "so long a running program may take to reach a job's sites",
         "SECONDS");
  number("--spool", a.spool_mb, "disk for results that the hive does not have yet", "MB");
  number("--cpu", a.cpu_percent, "share of one processor for the agent itself; 0: no limit",
         "PERCENT");
  number("--memory", a.memory_mb, "memory for the agent itself; 0: no limit", "MB");
  run.add_flag("--no-steering", a.no_steering, "only watch; hold no thread back");
}

}  // namespace

Verb agent_verb() {
  return {
      "agent", "validate for a hive in the programs of this machine",
      "deadheat agent run --hive https://hive.example:8700 --token-file token --program ./server",
      [](CLI::App& app) {
        auto arguments = std::make_shared<AgentArguments>();
        app.require_subcommand(1);
        CLI::App* run = agent_command(app, "run", "until it is stopped", *arguments);
        add_run_options(*run, *arguments);
        CLI::App* off = agent_command(app, "off", "no program validates, at once", *arguments);
        CLI::App* on = agent_command(app, "on", "the opposite of off", *arguments);
        agent_command(app, "log", "every message that was sent", *arguments);
        return std::function<int()>([arguments, run, off, on] {
          if (run->parsed()) return run_agent(*arguments);
          if (off->parsed() || on->parsed()) return switch_agent(*arguments, off->parsed());
          return show_log(*arguments);
        });
      }};
}

}  // namespace deadheat::apps
