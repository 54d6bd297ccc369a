// deadheat analyze: reads a trace and says which accesses race, and why.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include "apps/output.h"
#include "apps/progress.h"
#include "apps/verb.h"
#include "lib/analysis/engine.h"
#include "lib/analysis/findings.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/live/trace_sites.h"
#include "lib/trace/container_source.h"
#include "lib/trace/open.h"
#include "lib/trace/pipelined_source.h"

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

const std::map<std::string, EngineKind> kEngines{{"hb", EngineKind::kHappensBefore},
                                                 {"hybrid", EngineKind::kHybrid},
                                                 {"rdit", EngineKind::kRdit},
                                                 {"orders", EngineKind::kOrders}};
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

// Names the execution: size and both ends of the file. Hashing a trace of gigabytes would cost more
// than analysing it; two traces that differ only in the middle of equal length are two recordings
// by construction of the stamps.
std::string digest(const std::string& path) {
  constexpr off_t kEnd = 1 << 16;
  auto fd = open_for_reading(path);
  if (path == "-" || !fd) return "trace:stdin";
  const off_t size = ::lseek(fd->get(), 0, SEEK_END);
  if (size < 0) return "trace:stream";
  std::string bytes(static_cast<size_t>(kEnd), '\0');
  uint64_t hash = stable_hash(std::to_string(size));
  for (const off_t at : {off_t{0}, std::max(off_t{0}, size - kEnd)}) {
    const ssize_t got = ::pread(fd->get(), bytes.data(), bytes.size(), at);
    hash = stable_hash(
        std::string_view(bytes).substr(0, static_cast<size_t>(std::max<ssize_t>(got, 0))), hash);
  }
  char text[32];
  std::snprintf(text, sizeof text, "trace:%016llx", static_cast<unsigned long long>(hash));
  return text;
}

analysis::Options engine_options(const AnalyzeArguments& arguments) {
  analysis::Options options;
  options.engine = kEngines.at(arguments.engine);
  options.edges = kEdges.at(arguments.edges);
  options.missing = kMissing.at(arguments.missing);
  options.globals = kGlobals.at(arguments.globals);
  options.schedulable = !arguments.no_schedulable;
  options.memory_limit = arguments.memory_limit_mb << 20;
  options.max_pairs = arguments.max_pairs;
  return options;
}

// A recorded program's places under their names; labels of a text trace are names already.
model::FindingsFile named(model::FindingsFile findings, const trace::Source& source) {
  const auto* container = dynamic_cast<const trace::ContainerSource*>(&source);
  if (container == nullptr) return findings;
  std::vector<live::MappedModule> modules;
  for (const trace::Module& module : container->metadata().modules)
    modules.push_back({module.path, module.build_id, module.load_address, module.size});
  symbols::Symbolizer symbolizer;
  return live::symbolize(std::move(findings), modules, symbolizer);
}

int run_analyze(const AnalyzeArguments& arguments) {
  auto source = trace::open_trace(arguments.trace, {.ignore_gaps = arguments.ignore_gaps});
  if (!source) return fail(source.error());
  analysis::Options options = engine_options(arguments);
  Result<analysis::Report> report = analysis::Report{};
  {
    Progress progress("analyzed");
    options.progress = [&progress](uint64_t events) { progress.update(events); };
    // Reading on a second core pays for itself; on a single one it would only cost.
    trace::PipelinedSource pipelined(**source);
    const bool alone =
        arguments.jobs == 1 || (arguments.jobs == 0 && std::thread::hardware_concurrency() < 2);
    report = analysis::analyze(alone ? **source : static_cast<trace::Source&>(pipelined), options);
  }
  if (!report) return fail(report.error());
  const std::string engine = analysis::engine_name(options);
  const analysis::TraceIdentity identity{
      arguments.trace,
      digest(arguments.trace),
      "deadheat analyze --engine " + engine + " " + arguments.trace,
      {"--engine", arguments.engine, arguments.trace}};
  return emit(named(analysis::to_findings(*report, options, **source, identity), **source),
              arguments.output);
}

void add_engine_options(CLI::App& app, AnalyzeArguments& arguments) {
  app.add_option(
         "--engine", arguments.engine,
         "hb: happens-before races of this execution; hybrid: candidates that another schedule may "
         "show (disjoint locksets); rdit: happens-before that knows of uninstrumented regions; "
         "orders: "
         "lock acquisitions and atomic accesses whose order may be another one, to confirm for "
         "failures")
      ->check(CLI::IsMember(names(kEngines)))
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
