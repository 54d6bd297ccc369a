// The rows of `deadheat doctor`. A probe does a small piece of the real work on this machine and
// checks the result: a detector that is switched off must not look healthy.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "apps/canary.h"
#include "apps/doctor.h"
#include "apps/trials.h"
#include "compiler/driver/toolchain.h"
#include "lib/analysis/engine.h"
#include "lib/analysis/memory_source.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/work_folder.h"
#include "lib/model/json.h"
#include "lib/pipeline/launch.h"
#include "lib/process/sandbox/sandbox.h"
#include "lib/process/sources/bpf/bpf_source.h"
#include "lib/report/report.h"
#include "lib/report/writers.h"
#include "lib/sampler/backend/ptrace/probe.h"
#include "lib/symbols/symbolizer.h"
#include "lib/trace/container_source.h"
#include "lib/trace/writer.h"

namespace deadheat::apps {
namespace {

using analysis::EngineKind;
using trace::Event;
using trace::EventKind;

constexpr char kRebuild[] =
    "build it again (remove build/release): its own test trace comes out wrong";

constexpr int kCanarySeconds = 20;

std::vector<Event> two_writes(bool ordered) {
  const Event fork = {.thread = 0, .kind = EventKind::kFork, .other = 1};
  const Event first = {.address = 64, .size = 4, .thread = 0, .site = 0, .kind = EventKind::kWrite};
  const Event second = {
      .address = 64, .size = 4, .thread = 1, .site = 1, .kind = EventKind::kWrite};
  if (ordered) return {first, fork, second};
  return {fork, first, second};
}

// The race must be found, and its safe twin must not.
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

// The library must exist and be the right one: a program that loads another reports nothing.
std::optional<std::string> has_runtime(const char* mode) {
  const auto folder = pipeline::runtime_folder(mode);
  if (!folder) return folder.error().hint;
  const auto image = symbols::ElfImage::open(folder.value() + "/libdeadheat.so.1");
  if (!image) return image.error().message;
  if (image.value()->has_dynamic_symbol("__tsan_init")) return std::nullopt;
  return "build it again: " + image.value()->path() + " has no hooks";
}

// Runs the canary under the scheduler, which must report its start and must end.
std::optional<std::string> schedules_canary() {
  if (auto missing = has_runtime("schedule")) return missing;
  const auto work = WorkFolder::create();
  const auto detect = pipeline::runtime_folder("detect");
  if (!work) return work.error().hint;
  if (!detect) return detect.error().hint;
  TrialOptions options;
  options.program = {std::filesystem::path(detect.value()).parent_path() / "canary"};
  const auto target = pipeline::make_target(options);
  if (!target) return target.error().message;
  schedule::TrialRequest request;
  request.strategy = "serial";
  const std::string folder = work.value()->path() + "/trial";
  const auto child = schedule::prepare(target.value(), request, folder, kCanarySeconds);
  if (!child) return child.error().message;
  confirm::Children children;
  const auto started = children.start(child.value());
  if (!started) return started.error().message;
  std::optional<confirm::ChildResult> ended;
  while (!ended) ended = children.wait(started.value(), kCanarySeconds * 1000);
  symbols::Symbolizer symbolizer;
  const schedule::TrialResult trial =
      schedule::collect(target.value(), request, *ended, folder, "doctor", symbolizer);
  const bool alive = trial.started && trial.processes[0].mode == "schedule" && !ended->timed_out &&
                     ended->signal == 0;
  return alive ? std::nullopt : std::optional<std::string>(kRebuild);
}

std::optional<std::string> has_all_runtimes() {
  for (const char* mode : {"detect", "record", "schedule"})
    if (auto missing = has_runtime(mode)) return missing;
  return std::nullopt;
}

// Not required, but without it addresses differ from run to run, and so may executions.
std::string replay_row() {
  const confirm::Children children;
  return children.same_addresses() ? "addresses are the same in every run"
                                   : "without fixed addresses (optional: allow personality(2), "
                                     "which this container does not)";
}

// Looks up a function whose address is known.
std::optional<std::string> names_functions() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&::dladdr), &info) == 0) return kRebuild;
  symbols::Symbolizer symbolizer;
  const auto module = symbolizer.module(info.dli_fname, "");
  const auto offset =
      reinterpret_cast<uintptr_t>(info.dli_saddr) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const auto& frames = symbolizer.frames(module, offset);
  const bool named = !frames.empty() && frames.back().function.find("dladdr") != std::string::npos;
  return named ? std::nullopt : std::optional<std::string>(kRebuild);
}

std::optional<std::string> finds_canary() {
  const std::optional<Error> problem = canary_problem("");
  return problem ? std::optional(problem->hint + " (" + problem->message + ")") : std::nullopt;
}

std::optional<std::string> finds_compiler() {
  const auto chosen = driver::choose_toolchain(driver::Language::kC);
  if (!chosen) return chosen.error().hint;
  const std::string& warning = chosen.value().warning;
  return warning.empty() ? std::nullopt : std::optional("correct " + warning);
}

// The compilers' plugins are optional: without them everything works, and the row says what one
// would gain.
std::string pass_row() {
  const auto folder = pipeline::runtime_folder("detect");
  if (!folder) return "without the compilers' plugins: the runtime is missing";
  const auto there = [&](const std::string& name) {
    return ::access((folder.value() + "/../" + name).c_str(), R_OK) == 0;
  };
  std::string with = there("deadheat_pass.so") ? "clang 19" : "";
  for (int major = 10; major <= 16; ++major) {
    const std::string gcc = "gcc-" + std::to_string(major);
    if (!there(gcc + "/deadheat_gcc.so")) continue;
    if (!with.empty()) with += ", ";
    with += "gcc " + std::to_string(major);
  }
  return with.empty() ? "without marks of calls into other code (optional: gcc-12-plugin-dev, or "
                        "clang-19 and llvm-19-dev; rebuild)"
                      : "calls into code that is not instrumented are marked by " + with;
}

// The scanner is optional too: without LLVM, everything else works.
std::string scan_row() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return std::filesystem::exists(self.parent_path() / "deadheat-scan", error)
             ? "the scanner is there"
             : "without the scanner (optional: clang-19, llvm-19-dev, rebuild)";
}

// Also optional: building for validation requires clang 19, running the result does not.
std::string validate_row() {
  const auto folder = pipeline::runtime_folder("validate");
  const bool there =
      folder && ::access((folder.value() + "/../deadheat_validate.so").c_str(), R_OK) == 0;
  return there ? "the validating runtime and the plugin that builds for it are there"
               : "without the plugin for --candidates (optional: clang-19, llvm-19-dev, rebuild)";
}

// The hive's libraries are optional: without them, everything else works.
std::string hive_row() {
#ifdef DEADHEAT_HAS_HIVE
  return "the hive and its agent are built in";
#else
  return "without the hive (optional: libsqlite3-dev, libssl-dev, libboost1.81-dev, rebuild)";
#endif
}

std::optional<std::string> has_sandbox() {
  const auto sandbox = process::sandbox::Sandbox::create({});
  if (sandbox) return std::nullopt;
  return sandbox.error().message +
         (sandbox.error().hint.empty() ? "" : ": " + sandbox.error().hint);
}

// Also optional: without it, ptrace records processes.
std::string bpf_row() {
  const Status works = process::sources::check_bpf_source();
  if (works) return "the bpf source records at full speed";
  return "without the bpf source: " + works.error().message + " (optional: " + works.error().hint +
         ")";
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> rows = {
      {"run", "the detecting runtime library is there", [] { return has_runtime("detect"); }},
      {"watch", "a thread can be given a watchpoint", sampler::watch_problem},
      {"record", "the recording runtime library is there", [] { return has_runtime("record"); }},
      {"check", "all runtime libraries are there", has_all_runtimes},
      {"confirm", "a program runs under the scheduler", schedules_canary},
      {"replay", replay_row(), [] { return has_runtime("schedule"); }},
      {"analyze", "hb finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kHappensBefore); }},
      {"analyze", "hybrid finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kHybrid); }},
      {"analyze", "rdit finds a planted race, not its safe twin",
       [] { return finds_race(EngineKind::kRdit); }},
      {"report", "a finding is read back and rendered", writes_report},
      {"verify", "the runtime reports a planted race, not its safe twin", finds_canary},
      {"deadheat-cc", "a compiler to stand in for is there", finds_compiler},
      {"deadheat-cc", pass_row(), [] { return std::optional<std::string>(); }},
      {"proc", "a sandbox: overlay and namespaces", has_sandbox},
      {"proc", bpf_row(), [] { return std::optional<std::string>(); }},
      {"scan", scan_row(), [] { return std::optional<std::string>(); }},
      {"validate", validate_row(), [] { return has_runtime("validate"); }},
      {"hive", hive_row(), [] { return std::optional<std::string>(); }},
      {"agent", hive_row(), [] { return std::optional<std::string>(); }},
      {"symbolize", "a function of libc is found by its address", names_functions},
      {"trace", "a compressed trace is written and read back", keeps_trace},
  };
  return rows;
}

}  // namespace deadheat::apps
