#include "lib/pipeline/analyze.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "lib/analysis/findings.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/places/trace_sites.h"
#include "lib/trace/container_source.h"
#include "lib/trace/open.h"
#include "lib/trace/pipelined_source.h"

namespace deadheat::pipeline {
namespace {

// Identifies the execution by the size and both ends of the file. Hashing a trace of gigabytes
// would cost more than analysing it. Two recordings of equal length cannot differ only in the
// middle, because of their time stamps.
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

// Gives the places of a recorded program their names; labels of a text trace are names already.
model::FindingsFile named(model::FindingsFile findings, const trace::Source& source) {
  const auto* container = dynamic_cast<const trace::ContainerSource*>(&source);
  if (container == nullptr) return findings;
  std::vector<places::MappedModule> modules;
  for (const trace::Module& module : container->metadata().modules)
    modules.push_back({module.path, module.build_id, module.load_address, module.size});
  symbols::Symbolizer symbolizer;
  return places::symbolize(std::move(findings), modules, symbolizer);
}

}  // namespace

Result<model::FindingsFile> analyze(const AnalyzeOptions& options) {
  auto source = trace::open_trace(options.trace, {.ignore_gaps = options.ignore_gaps});
  if (!source) return source.error();
  // Reading on a second core pays off; with a single core it only adds cost.
  const bool alone =
      options.jobs == 1 || (options.jobs == 0 && std::thread::hardware_concurrency() < 2);
  Result<analysis::Report> report = analysis::Report{};
  {
    trace::PipelinedSource pipelined(**source);
    report = analysis::analyze(alone ? **source : static_cast<trace::Source&>(pipelined),
                               options.engine);
  }
  if (!report) return report.error();
  const std::string engine = analysis::engine_name(options.engine);
  const analysis::TraceIdentity identity{
      options.trace,
      digest(options.trace),
      "deadheat analyze --engine " + engine + " " + options.trace,
      {"--engine", std::string(analysis::engine_of(options.engine.engine).name), options.trace}};
  return named(analysis::to_findings(*report, options.engine, **source, identity), **source);
}

}  // namespace deadheat::pipeline
