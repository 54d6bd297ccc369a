// Writes a workload as STD text or as our container: make_workload --events N --threads T [...] -o
// FILE
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/workload/workload.h"
#include "lib/base/text.h"
#include "lib/trace/writer.h"

namespace {

using deadheat::bench::Workload;
using deadheat::trace::Event;
using deadheat::trace::EventKind;

void write_std(std::FILE* out, const Event& e) {
  const auto number = [](uint64_t address, uint64_t base) {
    return static_cast<unsigned long long>((address - base) / 8);
  };
  switch (e.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      std::fprintf(out, "T%u|%c(V%llu)|%u\n", e.thread, e.kind == EventKind::kRead ? 'r' : 'w',
                   number(e.address, Workload::kVariables), e.site);
      break;
    case EventKind::kAcquire:
    case EventKind::kRelease:
      std::fprintf(out, "T%u|%s(L%llu)|%u\n", e.thread,
                   e.kind == EventKind::kAcquire ? "acq" : "rel",
                   number(e.address, Workload::kLocks), e.site);
      break;
    case EventKind::kFork:
    case EventKind::kJoin:
      std::fprintf(out, "T%u|%s(T%u)|%u\n", e.thread, e.kind == EventKind::kFork ? "fork" : "join",
                   e.other, e.site);
      break;
    default:
      break;  // STD has no regions
  }
}

int write_std_file(const deadheat::bench::WorkloadOptions& options, const std::string& path) {
  std::FILE* const out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (out == nullptr) {
    std::perror(path.c_str());
    return 2;
  }
  static char buffer[1 << 20];
  std::setvbuf(out, buffer, _IOFBF, sizeof buffer);
  Workload workload(options);
  Event event;
  while (workload.next(event)) write_std(out, event);
  return std::fclose(out) == 0 ? 0 : 2;
}

int write_container(const deadheat::bench::WorkloadOptions& options, const std::string& path,
                    bool total_order, int zstd) {
  deadheat::trace::WriterOptions writer_options;
  writer_options.total_order = total_order;
  writer_options.zstd_level = zstd;
  auto writer = deadheat::trace::TraceWriter::create(path, writer_options);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 2;
  }
  std::vector<deadheat::trace::SiteId> sites(options.sites);
  for (uint32_t i = 0; i < options.sites; ++i)
    sites[i] = (*writer)->site({std::to_string(i), "", "", 0});
  std::vector<deadheat::trace::StreamWriter*> streams;
  for (uint32_t t = 0; t < options.threads; ++t) {
    (*writer)->name_thread(t, "T" + std::to_string(t));
    streams.push_back(&(*writer)->stream(t));
  }
  Workload workload(options);
  Event event;
  while (workload.next(event)) {
    event.site = sites[event.site];
    event.stamped =
        total_order || (event.kind != EventKind::kRead && event.kind != EventKind::kWrite);
    std::span<const deadheat::trace::Range> ranges;
    if (event.kind == EventKind::kRegionBegin)
      ranges = std::span(workload.ranges()).subspan(event.other, event.size);
    streams[event.thread]->append(event, ranges);
  }
  if (auto closed = (*writer)->close(); !closed) {
    std::fprintf(stderr, "%s\n", closed.error().message.c_str());
    return 2;
  }
  std::fprintf(
      stderr, "%.2f bytes per event\n",
      static_cast<double>((*writer)->bytes_written()) / static_cast<double>(options.events));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"writes a synthetic trace"};
  deadheat::bench::WorkloadOptions options;
  std::string output = "-", format = "std";
  bool partial = false;
  int zstd = 0;
  app.add_option("--events", options.events);
  app.add_option("--threads", options.threads)->check(CLI::Range(2, 100000));
  app.add_option("--seed", options.seed);
  app.add_option("--private-variables", options.private_variables);
  app.add_option("--shared-variables", options.shared_variables);
  app.add_option("--racy", options.racy);
  app.add_option("--regions", options.regions);
  app.add_option("--format", format)->check(CLI::IsMember({"std", "container"}));
  app.add_flag("--partial", partial, "container: plain accesses are not stamped");
  app.add_option("--zstd", zstd);
  app.add_option("-o,--output", output);
  CLI11_PARSE(app, argc, argv);
  return format == "std" ? write_std_file(options, output)
                         : write_container(options, output, !partial, zstd);
}
