// What the parts of `deadheat proc` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/output.h"
#include "lib/process/races/races.h"
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
  bool all = false;
  size_t limit = 50;
  // validate
  int undisturbed = 4, jobs = 0;
  uint64_t branches = 0;
  double time_s = 0;
  std::vector<std::string> checkers;
  bool verbose = false;
  OutputOptions output;
};

struct LookedAt {
  process::Recording recording;
  std::unique_ptr<process::Model> model;  // the graph points to it
  std::unique_ptr<process::Graph> graph;
  process::ProcessRaces races;
};

Result<LookedAt> look_for_races(const std::string& folder, bool all);
std::string races_text(const LookedAt& looked, size_t limit);

void add_validate_options(CLI::App& app, ProcArguments& arguments);
int run_validate(ProcArguments& arguments);
int run_replay(const ProcArguments& arguments);

}  // namespace deadheat::apps
