// What the parts of `deadheat proc` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/output.h"
#include "lib/base/time_budget.h"
#include "lib/process/campaign/looked_at.h"
#include "lib/process/record.h"

namespace CLI {
class App;
}

namespace deadheat::apps {

struct ProcArguments {
  std::string recording;
  std::vector<std::string> command;
  std::string source = "ptrace";
  double timeout_s = 0;
  process::SandboxOptions sandbox;
  std::vector<std::string> allow, without;
  bool all = false;
  size_t limit = 50;
  // validate
  int undisturbed = 4, jobs = 0, depth = 1;
  uint64_t branches = 0;
  double time_s = 0;
  TimeBudget time{0};    // runs since the start of the command
  bool cut_off = false;  // the recording, since the time is limited
  std::vector<std::string> checkers, beside;
  bool verbose = false, restart = false;
  // replay
  std::string finding;
  OutputOptions output;
};

std::string races_text(const process::LookedAt& looked, size_t limit);

void add_validate_options(CLI::App& app, ProcArguments& arguments);
int run_validate(ProcArguments& arguments);
int run_proc_replay(ProcArguments& arguments);

// Where a recorded command may do less now than it did.
void say_missing_permissions(const process::RecordingInfo& info,
                             const process::Permissions& allowed);
void say_problems(const std::vector<std::string>& problems);
// What the command printed, where it would have printed it.
void show_streams(const std::string& folder);

}  // namespace deadheat::apps
