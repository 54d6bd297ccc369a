// Finds the chunk of each requested event by merging once more.
//
// Chunks are noted only for batches that contain a requested event; the merge up to them is
// unchanged, and next() costs engines nothing extra.
#include "lib/trace/container_source.h"
#include "lib/trace/container_stream.h"

namespace deadheat::trace {
namespace {

constexpr uint32_t kNoChunk = 0xffffffffU;

}  // namespace

std::vector<std::string> ContainerSource::locate(std::span<const uint64_t> numbers) {
  std::vector<std::string> places(numbers.size(), kPlaceLost);
  start_over();
  uint64_t passed = 0;
  for (size_t i = 0; i < numbers.size();) {
    locating_ = numbers[i] - passed <= events_.size();
    if (locating_) chunk_of_.assign(events_.size(), kNoChunk);
    auto batch = next();
    if (!batch || batch->events.empty()) break;
    const uint64_t end = passed + batch->events.size();
    for (; i < numbers.size() && numbers[i] <= end; ++i) {
      const Chunk& chunk = index_.chunks[chunk_of_[numbers[i] - passed - 1]];
      places[i] = "in the chunk at offset " + std::to_string(chunk.offset);
    }
    passed = end;
  }
  locating_ = false;
  return places;
}

// The events of [from, to) that are there and not noted yet come from the stream's open chunk.
void ContainerSource::note_chunk(const Stream& stream, const Event* from, const Event* to) {
  const uint32_t chunk = stream.chunks[stream.next_chunk - 1];
  for (const Event* event = from; event < to; ++event) {
    uint32_t& noted = chunk_of_[static_cast<size_t>(event - events_.data())];
    if (event->kind != EventKind::kCount && noted == kNoChunk) noted = chunk;
  }
}

}  // namespace deadheat::trace
