#include "lib/trace/metadata.h"

#include "lib/base/hex_digits.h"
#include "lib/trace/varint.h"

namespace deadheat::trace {
namespace {

constexpr size_t kMaxBuildId = 64;

std::string text_of(const uint8_t* p, const uint8_t* end) {
  return std::string(reinterpret_cast<const char*>(p), static_cast<size_t>(end - p));
}

bool get_u32(const uint8_t*& p, const uint8_t* end, uint32_t& out) {
  uint64_t value = 0;
  p = get_varint(p, end, value);
  out = static_cast<uint32_t>(value);
  return p != nullptr && value <= 0xffffffffU;
}

bool get_u64(const uint8_t*& p, const uint8_t* end, uint64_t& out) {
  p = get_varint(p, end, out);
  return p != nullptr;
}

}  // namespace

void Metadata::add_chunk(const Input& input, const Chunk& chunk, Problems& problems) {
  if (bytes_read + chunk.header.raw_size > kMaxMetaBytes) {
    ++chunks_left_out;
    return;
  }
  auto payload = load_payload(input, chunk, 0);
  const std::string where = "meta chunk at offset " + std::to_string(chunk.offset) + ": ";
  if (!payload) {
    ++damaged_chunks;
    if (problems.wants_text())
      problems.add(where + payload.error().message +
                   "; names of modules, threads or objects may be missing");
    return;
  }
  bytes_read += payload->size();
  const uint8_t* p = payload->data();
  const uint8_t* const end = p + payload->size();
  while (p < end && *p != DHT_RECORD_END) {
    const uint8_t tag = *p;
    uint64_t size = 0;
    const uint8_t* const body = get_varint(p + 1, end, size);
    if (body == nullptr || size > static_cast<uint64_t>(end - body) ||
        !add_record(chunk, tag, body, body + size)) {
      ++damaged_chunks;
      if (problems.wants_text())
        problems.add(where + "malformed record " + std::to_string(p - payload->data()) +
                     " bytes into it");
      return;
    }
    p = body + size;
  }
}

bool Metadata::add_record(const Chunk& chunk, uint8_t tag, const uint8_t* p, const uint8_t* end) {
  if (end - p > static_cast<ptrdiff_t>(DHT_MAX_TEXT + 256)) return false;
  const uint32_t pid = chunk.header.pid, generation = chunk.header.generation;
  if (tag == DHT_META_PROCESS) {
    Process process{.pid = pid,
                    .generation = generation,
                    .parent_pid = 0,
                    .parent_generation = 0,
                    .command = {},
                    .closed = false,
                    .streams = 0,
                    .events_not_recorded = 0,
                    .handlers_not_recorded = 0};
    if (!get_u32(p, end, process.parent_pid) || !get_u32(p, end, process.parent_generation))
      return false;
    process.command = text_of(p, end);
    processes.push_back(std::move(process));
  } else if (tag == DHT_META_MODULE) {
    Module module{.pid = pid,
                  .generation = generation,
                  .id = 0,
                  .load_address = 0,
                  .size = 0,
                  .build_id = {},
                  .path = {}};
    uint64_t id_size = 0;
    if (!get_u32(p, end, module.id) || !get_u64(p, end, module.load_address) ||
        !get_u64(p, end, module.size))
      return false;
    if (!get_u64(p, end, id_size) || id_size > kMaxBuildId ||
        id_size > static_cast<uint64_t>(end - p))
      return false;
    module.build_id = hex_digits({p, id_size});
    module.path = text_of(p + id_size, end);
    modules.push_back(std::move(module));
  } else if (tag == DHT_META_THREAD) {
    NamedThread thread{.key = {pid, generation, 0}, .name = {}};
    if (!get_u32(p, end, thread.key.tid)) return false;
    thread.name = text_of(p, end);
    threads.push_back(std::move(thread));
  } else if (tag == DHT_META_NAME) {
    uint64_t space = 0, address = 0, size = 0;
    if (!get_u64(p, end, space) || !get_u64(p, end, address) || !get_u64(p, end, size))
      return false;
    if (space < kNameSpaces) names[space].emplace(address, text_of(p, end));
  } else if (tag == DHT_META_END) {
    uint64_t streams = 0;
    if (!get_u64(p, end, streams)) return false;
    for (Process& process : processes) {
      if (process.pid != pid || process.generation != generation) continue;
      process.closed = true;
      process.streams = streams;
    }
  } else if (tag == DHT_META_LOST) {
    uint64_t why = 0, events = 0;
    if (!get_u64(p, end, why) || !get_u64(p, end, events)) return false;
    for (Process& process : processes) {
      if (process.pid != pid || process.generation != generation) continue;
      if (why == DHT_LOST_STOPPED) {
        process.events_not_recorded = events;  // so far: the last record counts
      } else {
        process.handlers_not_recorded = events;
      }
    }
  } else if (tag == DHT_META_TOOL) {
    tool = text_of(p, end);
  } else {
    ++unknown_records;
  }
  return true;
}

}  // namespace deadheat::trace
