// The rows of `deadheat doctor`. A probe does a small piece of the real work on this machine and
// looks at the answer: a detector that is switched off must not look like a clean bill of health.
#include <sys/mman.h>

#include "apps/doctor.h"
#include "lib/analysis/engine.h"
#include "lib/analysis/memory_source.h"
#include "lib/base/scoped_fd.h"
#include "lib/model/json.h"
#include "lib/report/report.h"
#include "lib/report/writers.h"
#include "lib/trace/container_source.h"
#include "lib/trace/writer.h"

namespace deadheat::apps {
namespace {

using analysis::EngineKind;
using trace::Event;
using trace::EventKind;

constexpr char kRebuild[] =
    "build it again (remove build/release): its own test trace comes out wrong";

std::vector<Event> two_writes(bool ordered) {
  const Event fork = {.thread = 0, .kind = EventKind::kFork, .other = 1};
  const Event first = {.address = 64, .size = 4, .thread = 0, .site = 0, .kind = EventKind::kWrite};
  const Event second = {
      .address = 64, .size = 4, .thread = 1, .site = 1, .kind = EventKind::kWrite};
  if (ordered) return {first, fork, second};
  return {fork, first, second};
}

// The race must be found and its safe twin must not.
std::optional<std::string> finds_race(EngineKind engine) {
  for (const bool ordered : {false, true}) {
    analysis::MemorySource source({two_writes(ordered), {}});
    analysis::Options options;
    options.engine = engine;
    const Result<analysis::Report> report = analysis::analyze(source, options);
    if (!report) return report.error().message;
    if (report.value().pairs.size() != (ordered ? 0 : 1)) return kRebuild;
  }
  return std::nullopt;
}

std::optional<std::string> keeps_trace() {
  const ScopedFd file(::memfd_create("deadheat-doctor", MFD_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  trace::WriterOptions options;
  options.zstd_level = 1;
  const auto writer = trace::TraceWriter::create(path, options);
  if (!writer) return "mount /proc (" + writer.error().message + ")";
  const std::vector<Event> events = two_writes(false);
  for (Event event : events) {
    event.site = trace::kNoSite;
    writer.value()->stream(event.thread).append(event);
  }
  const Status closed = writer.value()->close();
  if (!closed) return closed.error().message;
  Result<trace::Input> input = trace::Input::open(path);
  if (!input) return input.error().message;
  const auto source = trace::ContainerSource::open(std::move(input).value());
  if (!source) return source.error().message;
  size_t count = 0;
  for (;;) {
    const Result<trace::Batch> batch = source.value()->next();
    if (!batch || batch.value().events.empty()) break;
    count += batch.value().events.size();
  }
  return count == events.size() ? std::nullopt : std::optional<std::string>(kRebuild);
}

std::optional<std::string> writes_report() {
  model::Finding finding;
  finding.candidate.roles.resize(2);
  finding.candidate.roles[0].site.function = "canary";
  model::Evidence& evidence = finding.evidence.emplace_back();
  evidence.id = "doctor/1";
  evidence.outcome = model::Outcome::kRace;
  model::FindingsFile file;
  model::add_finding(file, finding);
  const Result<model::FindingsFile> read = model::from_json(model::to_json(file));
  if (!read) return read.error().message;
  const report::Report report = report::build_report(read.value(), {});
  const bool shown = report::write_text(report, {}).find("canary") != std::string::npos &&
                     report::write_html(report).find("canary") != std::string::npos;
  return shown ? std::nullopt : std::optional<std::string>(kRebuild);
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> rows = {
      {"analyze", "hb finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kHappensBefore); }},
      {"analyze", "hybrid finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kHybrid); }},
      {"analyze", "rdit finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kRdit); }},
      {"report", "a finding is read back and rendered", writes_report},
      {"trace", "a compressed trace is written and read back", keeps_trace},
  };
  return rows;
}

}  // namespace deadheat::apps
