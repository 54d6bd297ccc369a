// Shared by the parts of `deadheat proc`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/output.h"
#include "lib/base/time_budget.h"
#include "lib/process/record/record.h"
#include "lib/process/trials/looked_at.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

struct ProcArguments {
  std::string recording;
  std::vector<std::string> command;
  std::string source = "ptrace";
  double timeout_s = 0;
  process::sandbox::SandboxOptions sandbox;
  std::vector<std::string> allow, without;
  bool all = false;
  size_t limit = 50;
  // validate
  int undisturbed = 4, jobs = 0, depth = 1;
  uint64_t branches = 0;
  double time_s = 0;
  TimeBudget time{0};            // running since the start of the command
  bool cut_off = false;          // the recording, because the time is limited
  size_t failed_recordings = 0;  // by themselves, before one that did not fail
  std::vector<std::string> checkers, beside;
  std::string on;               // a cluster; empty: here
  uint32_t most_memory_mb = 0;  // 0: half of the machine's
  bool verbose = false, restart = false;
  // replay
  std::string finding;
  OutputOptions output;
};

std::string races_text(const process::trials::LookedAt& looked, size_t limit);

void add_validate_options(CLI::App& app, ProcArguments& arguments);
int run_validate(ProcArguments& arguments);
int run_proc_replay(ProcArguments& arguments);

// No checker's code may belong to another user (lib/base/trust.h).
Status check_checkers(const std::vector<std::string>& after,
                      const std::vector<std::string>& beside);

// Warns about permissions that a recorded command had but now lacks.
void say_missing_permissions(const process::recording::RecordingInfo& info,
                             const process::sandbox::Permissions& allowed);
void say_problems(const std::vector<std::string>& problems);
// Shows the command's output where it would have appeared.
void show_streams(const std::string& folder);

}  // namespace deadheat::apps
