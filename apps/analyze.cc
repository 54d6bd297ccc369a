// deadheat analyze: reads a trace and says which accesses race, and why.
#include "lib/pipeline/analyze.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "apps/output.h"
#include "apps/progress.h"
#include "apps/verb.h"
#include "lib/analysis/engine.h"

namespace deadheat::apps {
namespace {

using analysis::Edges;
using analysis::EngineKind;
using analysis::Globals;
using analysis::Missing;

struct AnalyzeArguments {
  std::string trace;
  std::string engine = "hb", edges = "full", missing = "rdit", globals = "none";
  uint64_t memory_limit_mb = 4096;
  uint64_t max_pairs = 10000;
  uint64_t jobs = 0;
  bool no_schedulable = false;
  bool ignore_gaps = false;
  OutputOptions output;
};

std::map<std::string, EngineKind> engine_names() {
  std::map<std::string, EngineKind> names;
  for (const analysis::Engine& engine : analysis::engines())
    names.emplace(engine.name, engine.kind);
  return names;
}

std::string engine_help() {
  std::string text;
  for (const analysis::Engine& engine : analysis::engines())
    text +=
        (text.empty() ? "" : "; ") + std::string(engine.name) + ": " + std::string(engine.summary);
  return text;
}

const std::map<std::string, Edges> kEdges{{"full", Edges::kFull}, {"paper", Edges::kPaper}};
const std::map<std::string, Missing> kMissing{
    {"rdit", Missing::kRdit}, {"ignore", Missing::kIgnore}, {"naive", Missing::kNaive}};
const std::map<std::string, Globals> kGlobals{
    {"none", Globals::kNone}, {"module", Globals::kModule}, {"all", Globals::kAll}};

template <typename Table>
std::vector<std::string> names(const Table& table) {
  std::vector<std::string> result;
  for (const auto& [name, value] : table) result.push_back(name);
  return result;
}

analysis::Options engine_options(const AnalyzeArguments& arguments) {
  analysis::Options options;
  options.engine = engine_names().at(arguments.engine);
  options.edges = kEdges.at(arguments.edges);
  options.missing = kMissing.at(arguments.missing);
  options.globals = kGlobals.at(arguments.globals);
  options.schedulable = !arguments.no_schedulable;
  options.memory_limit = arguments.memory_limit_mb << 20;
  options.max_pairs = arguments.max_pairs;
  return options;
}

int run_analyze(const AnalyzeArguments& arguments) {
  pipeline::AnalyzeOptions options;
  options.trace = arguments.trace;
  options.engine = engine_options(arguments);
  options.jobs = arguments.jobs;
  options.ignore_gaps = arguments.ignore_gaps;
  Result<model::FindingsFile> findings = model::FindingsFile{};
  {
    Progress progress("analyzed");
    options.engine.progress = [&progress](uint64_t events) { progress.update(events); };
    findings = pipeline::analyze(options);
  }
  if (!findings) return fail(findings.error());
  return emit(std::move(*findings), arguments.output);
}

void add_engine_options(CLI::App& app, AnalyzeArguments& arguments) {
  app.add_option("--engine", arguments.engine, engine_help())
      ->check(CLI::IsMember(names(engine_names())))
      ->capture_default_str();
  app.add_option("--edges", arguments.edges,
                 "hybrid: paper takes only the order of start, join and notify; full also that of "
                 "barriers, "
                 "semaphores, once, atomics")
      ->check(CLI::IsMember(names(kEdges)))
      ->capture_default_str();
  app.add_option(
         "--missing", arguments.missing,
         "rdit: order regions that reach a common address (rdit), none (ignore) or all (naive)")
      ->check(CLI::IsMember(names(kMissing)))
      ->capture_default_str();
  app.add_option(
         "--globals", arguments.globals,
         "rdit: regions may also synchronise through globals: of the module they enter, or all")
      ->check(CLI::IsMember(names(kGlobals)))
      ->capture_default_str();
  app.add_flag(
      "--no-schedulable", arguments.no_schedulable,
      "do not tell apart races that exist only because of an earlier one (total-order traces)");
  app.add_flag("--ignore-gaps", arguments.ignore_gaps,
               "go on where synchronisation was lost; what follows may be a false alarm");
  app.add_option("--memory-limit", arguments.memory_limit_mb,
                 "megabytes of shadow; past it locations go unchecked, counted")
      ->type_name("MB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "1 reads and analyses on one core; 0: as many as help")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--max-pairs", arguments.max_pairs,
                 "racy pairs of sites to keep; more are counted")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
}

}  // namespace

Verb analyze_verb() {
  return {"analyze", "read a trace and say which accesses race, and why",
          "deadheat analyze --engine hybrid examples/bank.std -o report.html", [](CLI::App& app) {
            auto arguments = std::make_shared<AnalyzeArguments>();
            app.add_option("trace", arguments->trace,
                           "a Deadheat trace or STD text; - for standard input")
                ->type_name("TRACE")
                ->required();
            add_engine_options(app, *arguments);
            add_output_options(app, arguments->output);
            return std::function<int()>([arguments] { return run_analyze(*arguments); });
          }};
}

}  // namespace deadheat::apps
