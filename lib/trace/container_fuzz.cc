// Any bytes as a container: nothing crashes, nothing reads beyond, and what is read twice is the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/trace/container_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat::trace;
  if (size == 0) return 0;
  // The last byte picks the options, so that one corpus serves all of them.
  const uint8_t choice = data[size - 1];
  ContainerOptions options;
  options.ignore_gaps = (choice & 1) != 0;
  options.memory_limit = (choice & 2) != 0 ? 4096 : 8 << 20;
  options.batch_events = (choice & 4) != 0 ? 7 : 512;
  auto source = ContainerSource::open(Input::from_memory({data, size - 1}, "fuzz"), options);
  if (!source) return 0;
  uint64_t counts[2] = {0, 0};
  for (uint64_t& count : counts) {
    for (auto batch = (*source)->next(); batch && !batch->events.empty() && count < 1'000'000; batch = (*source)->next()) {
      for (const Event& event : batch->events) {
        const bool region = event.kind == EventKind::kRegionBegin || event.kind == EventKind::kRegionEnd;
        if (event.kind >= EventKind::kCount || event.thread >= (*source)->thread_count()) std::abort();
        if (region && event.size > 0 && event.other + event.size > batch->ranges.size()) std::abort();
      }
      count += batch->events.size();
    }
    (void)(*source)->counters();
    if (!(*source)->rewind()) std::abort();
  }
  if (counts[0] != counts[1]) std::abort();
  return 0;
}
