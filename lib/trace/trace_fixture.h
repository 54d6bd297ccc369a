// Shared by the trace tests: scratch files, random events, reading everything back.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/trace/container_source.h"
#include "lib/trace/event_names.h"
#include "lib/trace/writer.h"

namespace deadheat::trace {

// An unused file name; the file is removed afterwards.
class ScratchFile {
 public:
  ScratchFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/deadheat-test-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    if (fd >= 0) ::close(fd);
  }
  ~ScratchFile() { ::unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// An event together with its ranges: comparable across traces.
struct WholeEvent {
  Event event;
  std::vector<Range> ranges;
  friend bool operator==(const WholeEvent&, const WholeEvent&) = default;
};

inline WholeEvent whole(Event event, std::span<const Range> ranges) {
  WholeEvent result{event, {}};
  if (is_region(event.kind)) {
    for (uint64_t i = 0; i < event.size; ++i) result.ranges.push_back(ranges[event.other + i]);
    result.event.other = 0;
  }
  return result;
}

inline std::vector<WholeEvent> read_all(Source& source) {
  std::vector<WholeEvent> all;
  for (;;) {
    auto batch = source.next();
    if (!batch || batch->events.empty()) return all;
    for (const Event& event : batch->events) all.push_back(whole(event, batch->ranges));
  }
}

// A random event that the container can hold, of `thread` among `threads`; sites are below `sites`.
inline WholeEvent random_event(Random& random, ThreadId thread, uint32_t threads, uint32_t sites) {
  WholeEvent result;
  Event& event = result.event;
  event.thread = thread;
  event.kind = random.chance(0.7)
                   ? static_cast<EventKind>(random.below(2))
                   : static_cast<EventKind>(random.below(static_cast<uint64_t>(EventKind::kCount)));
  if (random.chance(0.9)) event.site = static_cast<SiteId>(random.below(sites));
  if (event.kind == EventKind::kFunctionExit) event.site = kNoSite;
  if (has_address(event.kind)) {
    const uint64_t far = random.next() >> random.below(64);
    event.address = random.chance(0.8) ? 0x7f0000000000ULL + random.below(1 << 12) * 8 : far;
  }
  if (has_size(event.kind))
    event.size = random.chance(0.8) ? 1ULL << random.below(7) : random.next() >> random.below(64);
  const bool access = event.kind <= EventKind::kReadModifyWrite;
  if (event.kind == EventKind::kReadModifyWrite || event.kind == EventKind::kFence ||
      (access && random.chance(0.1))) {
    event.order = static_cast<MemoryOrder>(1 + random.below(6));
  }
  if (has_tokens(event.kind))
    event.other =
        random.chance(0.2) ? kUnknownTokens : static_cast<uint32_t>(random.next() >> 32) >> 1;
  if (names_thread(event.kind)) event.other = static_cast<uint32_t>(random.below(threads));
  if (is_region(event.kind)) {
    event.size = random.below(4);
    for (uint64_t i = 0; i < event.size; ++i) {
      const uint64_t begin = random.below(1ULL << 48);
      result.ranges.push_back({begin, begin + random.below(4096)});
    }
  }
  event.stamped = !may_be_unstamped(event) || random.chance(0.2);
  return result;
}

inline std::unique_ptr<ContainerSource> open_container(const std::string& path,
                                                       const ContainerOptions& options = {}) {
  auto input = Input::open(path);
  if (!input) return nullptr;
  auto source = ContainerSource::open(std::move(*input), options);
  return source ? std::move(*source) : nullptr;
}

// The expected results of locate() for `events`, which are all that the source yields: the first
// events of a thread lie in its first chunk, and so on; none lie in the chunk at `lost`. Threads
// are numbered by their tids.
inline std::vector<std::string> places_of(const ContainerSource& source,
                                          std::span<const WholeEvent> events, uint64_t lost = 0) {
  std::map<ThreadId, std::vector<uint64_t>> offsets;  // of a thread's events, last first
  for (size_t i = source.index().chunks.size(); i-- > 0;) {
    const Chunk& chunk = source.index().chunks[i];
    if (chunk.header.domain != DHT_DOMAIN_THREAD || chunk.offset == lost) continue;
    auto& of_thread = offsets[chunk.header.tid];
    of_thread.insert(of_thread.end(), chunk.header.events, chunk.offset);
  }
  std::vector<std::string> places;
  for (const WholeEvent& event : events) {
    auto& of_thread = offsets[event.event.thread];
    if (of_thread.empty()) return places;
    places.push_back("in the chunk at offset " + std::to_string(of_thread.back()));
    of_thread.pop_back();
  }
  return places;
}

inline std::vector<uint64_t> numbers_to(uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t number = 1; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

inline uint64_t counter(const Source& source, std::string_view name) {
  for (const Counter& entry : source.counters()) {
    if (entry.name == name) return entry.value;
  }
  return ~0ULL;
}

}  // namespace deadheat::trace
