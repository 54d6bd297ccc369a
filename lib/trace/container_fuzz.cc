// Arbitrary bytes as a container: no crash, no read out of bounds, and two reads give the same
// result.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lib/trace/chunk_header.h"
#include "lib/trace/container_source.h"

namespace {

using namespace deadheat::trace;

// Corrects the checksums: otherwise hardly any mutation reaches the records.
void repair(std::vector<uint8_t>& bytes) {
  dht_file_header file;
  if (bytes.size() < sizeof file) return;
  std::memcpy(&file, bytes.data(), sizeof file);
  file.header_crc = checksum(file);
  std::memcpy(bytes.data(), &file, sizeof file);
  size_t at = sizeof file;
  dht_chunk_header header;
  while (at + sizeof header <= bytes.size()) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const size_t left = bytes.size() - at - sizeof header;
    if (header.stored_size <= left)
      header.payload_crc = dht_crc32c(bytes.data() + at + sizeof header, header.stored_size);
    const bool is_open = header.state == DHT_STATE_OPEN;
    seal(header);
    if (is_open) header.state = DHT_STATE_OPEN;
    std::memcpy(bytes.data() + at, &header, sizeof header);
    if (header.capacity < sizeof header || header.capacity > left) return;
    at += header.capacity;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The last byte selects the options, so that one corpus serves all of them.
  const uint8_t choice = data[size - 1];
  ContainerOptions options;
  options.ignore_gaps = (choice & 1) != 0;
  options.memory_limit = (choice & 2) != 0 ? 4096 : 8 << 20;
  options.batch_events = (choice & 4) != 0 ? 7 : 512;
  std::vector<uint8_t> bytes(data, data + size - 1);
  if ((choice & 8) != 0) repair(bytes);
  auto source = ContainerSource::open(Input::from_memory(bytes, "fuzz"), options);
  if (!source) return 0;
  uint64_t counts[2] = {0, 0};
  for (uint64_t& count : counts) {
    for (auto batch = (*source)->next(); batch && !batch->events.empty() && count < 1'000'000;
         batch = (*source)->next()) {
      for (const Event& event : batch->events) {
        const bool region =
            event.kind == EventKind::kRegionBegin || event.kind == EventKind::kRegionEnd;
        if (event.kind >= EventKind::kCount || event.thread >= (*source)->thread_count())
          std::abort();
        if (region && event.size > 0 && event.other + event.size > batch->ranges.size())
          std::abort();
      }
      count += batch->events.size();
    }
    (void)(*source)->counters();
    if (!(*source)->rewind()) std::abort();
  }
  if (counts[0] != counts[1]) std::abort();
  if (counts[0] == 0) return 0;
  const uint64_t numbers[] = {1, (counts[0] + 1) / 2, counts[0]};
  for (const std::string& place : (*source)->locate(numbers))
    if (place == kPlaceLost) std::abort();
  return 0;
}
