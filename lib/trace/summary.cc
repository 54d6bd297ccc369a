#include "lib/trace/summary.h"

#include <algorithm>

#include "lib/trace/container_source.h"
#include "lib/trace/std_source.h"

namespace deadheat::trace {
namespace {

void describe_container(const ContainerSource& source, TraceSummary& summary) {
  summary.format = "Deadheat trace";
  summary.version = source.index().file.version;
  summary.dense_stamps = source.dense_stamps();
  summary.bytes = source.index().file_size;
  summary.sites = source.site_count();
  summary.horizon = source.horizon();
  summary.tool = source.metadata().tool;
  summary.processes = source.metadata().processes;
  summary.modules = source.metadata().modules;
  for (const Chunk& chunk : source.index().chunks) {
    ++summary.chunks;
    summary.open_chunks += chunk.is_open() ? 1 : 0;
    summary.compressed_chunks += (chunk.header.flags & DHT_CHUNK_ZSTD) != 0 ? 1 : 0;
    summary.stored_bytes += chunk.header.stored_size;
    summary.raw_bytes += chunk.is_open() ? chunk.header.stored_size : chunk.header.raw_size;
  }
}

void describe_text(const StdSource& source, TraceSummary& summary) {
  summary.format = "STD text";
  summary.version = 1;
  summary.dense_stamps = true;
  summary.bytes = source.bytes();
  summary.sites = source.site_count();
}

}  // namespace

Result<TraceSummary> summarize(OpenedTrace& trace,
                               const std::function<void(uint64_t events)>& progress) {
  TraceSummary summary;
  Source& source = *trace.source;
  for (;;) {
    auto batch = source.next();
    if (!batch) return batch.error();
    if (batch->events.empty()) break;
    for (const Event& event : batch->events) {
      ++summary.by_kind[std::min(static_cast<size_t>(event.kind), summary.by_kind.size() - 1)];
      summary.stamped += event.stamped ? 1 : 0;
      summary.atomics +=
          event.kind <= EventKind::kWrite && event.order != MemoryOrder::kPlain ? 1 : 0;
    }
    summary.events += batch->events.size();
    if (progress) progress(summary.events);
  }
  summary.total_order = source.total_order();
  summary.threads = source.thread_count();
  for (ThreadId thread = 0; thread < summary.threads && thread < TraceSummary::kMaxThreadNames;
       ++thread) {
    summary.thread_names.push_back(source.thread_name(thread));
  }
  if (const auto* container = dynamic_cast<const ContainerSource*>(&source))
    describe_container(*container, summary);
  if (const auto* text = dynamic_cast<const StdSource*>(&source)) describe_text(*text, summary);
  summary.counters = source.counters();
  summary.problems.assign(source.problems().begin(), source.problems().end());
  return summary;
}

}  // namespace deadheat::trace
