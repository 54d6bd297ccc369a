#include "lib/trace/chunk_index.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "lib/base/text.h"
#include "lib/trace/chunk_header.h"

namespace deadheat::trace {
namespace {

std::string at_offset(uint64_t offset) { return " at offset " + std::to_string(offset); }

class Indexer {
 public:
  Indexer(const Input& input, ChunkIndex& index, Problems& problems)
      : input_(input), index_(index), problems_(problems) {}

  void run(uint64_t offset) {
    while (offset < index_.file_size) {
      const auto header = identity_at(offset);
      if (!header) {
        offset = skip_garbage(offset);
        continue;
      }
      offset = take(offset, *header);
    }
  }

 private:
  std::optional<dht_chunk_header> identity_at(uint64_t offset) const {
    dht_chunk_header header{};
    if (input_.read(offset, &header, sizeof header) != sizeof header || !has_valid_identity(header))
      return std::nullopt;
    return header;
  }

  // Adds the chunk if its bytes are present. Returns where to look next.
  uint64_t take(uint64_t offset, const dht_chunk_header& header) {
    const uint64_t left = index_.file_size - offset;
    const Chunk chunk{offset, header};
    const uint64_t next = offset + header.capacity;
    if (!has_valid_commit(header)) {
      ++index_.damaged_headers;
      if (problems_.wants_text())
        problems_.add("damaged chunk" + at_offset(offset) +
                      ": its sizes or checksum cannot be trusted; skipped");
      return header.capacity <= left && (header.capacity == left || identity_at(next))
                 ? next
                 : offset + sizeof header;
    }
    const bool payload_inside = header.header_size + header.stored_size <= left;
    const bool lands = header.capacity <= left && (header.capacity == left || identity_at(next));
    if (payload_inside && (lands || verifies(chunk))) {
      index_.chunks.push_back(chunk);
      return std::min(next, index_.file_size);
    }
    if (header.capacity > left) {
      index_.cut = true;
      problems_.add("the trace is cut" + at_offset(index_.file_size) + ", within the chunk" +
                    at_offset(offset) + "; complete chunks are kept");
    } else if (problems_.wants_text()) {
      problems_.add("damaged chunk" + at_offset(offset) +
                    ": its payload does not match its checksum; skipped");
    }
    ++index_.damaged_headers;
    // A writer may have been killed midway, and chunks of other writers can lie inside its claimed
    // extent.
    return offset + sizeof header;
  }

  // Payloads are read here only after a hop that led nowhere. The budget prevents a file of false
  // headers, each claiming everything after it, from costing time quadratic in its size.
  bool verifies(const Chunk& chunk) {
    if (chunk.header.stored_size > verify_budget_) return false;
    verify_budget_ -= chunk.header.stored_size;
    return load_payload(input_, chunk, 0).ok();
  }

  // Skips from a position that is no chunk header to the next one that is, or to the end.
  uint64_t skip_garbage(uint64_t from) {
    constexpr size_t kBlock = 64 << 10;
    const uint32_t magic = DHT_CHUNK_MAGIC;
    std::vector<uint8_t> block(kBlock + sizeof magic - 1);
    uint64_t at = from;
    bool all_zero = true;
    while (at < index_.file_size) {
      const size_t got = input_.read(at, block.data(), block.size());
      if (got == 0) break;
      const size_t fresh = std::min(got, kBlock);
      for (size_t i = 0; i + sizeof magic <= got && i < kBlock; ++i) {
        const void* found = std::memchr(block.data() + i, magic & 0xff, fresh - i);
        if (found == nullptr) break;
        i = static_cast<size_t>(static_cast<const uint8_t*>(found) - block.data());
        if (i + sizeof magic > got) break;
        if (at + i > from && std::memcmp(found, &magic, sizeof magic) == 0 && identity_at(at + i)) {
          all_zero = all_zero && is_zero(block.data(), i);
          return report_garbage(from, at + i, all_zero);
        }
      }
      all_zero = all_zero && is_zero(block.data(), fresh);
      at += fresh;
    }
    return report_garbage(from, index_.file_size, all_zero);
  }

  static bool is_zero(const uint8_t* bytes, size_t size) {
    return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; });
  }

  // Zeroes are not damage: space that was reserved and never used.
  uint64_t report_garbage(uint64_t from, uint64_t to, bool all_zero) {
    if (all_zero && to - from >= sizeof(dht_chunk_header)) return to;
    index_.garbage_bytes += to - from;
    if (to == index_.file_size && to - from < sizeof(dht_chunk_header)) {
      index_.cut = true;
      problems_.add("the trace is cut" + at_offset(to) + ", within a chunk header" +
                    at_offset(from) + "; complete chunks are kept");
    } else if (problems_.wants_text()) {
      problems_.add(std::to_string(to - from) + " bytes" + at_offset(from) +
                    " are no chunk; skipped");
    }
    return to;
  }

  const Input& input_;
  ChunkIndex& index_;
  Problems& problems_;
  uint64_t verify_budget_ = 4 * index_.file_size + (uint64_t{DHT_MAX_RAW_SIZE} << 1);
};

}  // namespace

Result<ChunkIndex> index_chunks(const Input& input, Problems& problems) {
  ChunkIndex index;
  index.file_size = input.size();
  const size_t got = input.read(0, &index.file, sizeof index.file);
  if (got < sizeof index.file.magic || !has_magic(index.file)) {
    return Error{input.name() + " is not a Deadheat trace: it does not start with the trace mark",
                 "record or convert one first"};
  }
  if (got < sizeof index.file) {
    return Error{input.name() + ": cut" + at_offset(got) + ", within the file header",
                 "record the trace again"};
  }
  if (index.file.version != DHT_VERSION) {
    return Error{input.name() + ": trace version " + std::to_string(index.file.version) +
                     at_offset(8) + "; this deadheat reads version " + std::to_string(DHT_VERSION),
                 "use the deadheat that recorded it, or convert it there with --to text"};
  }
  if (!is_valid(index.file) || index.file.header_size < sizeof index.file) {
    // The flags decide how stamps are read; guessing them could invent races.
    return Error{input.name() + ": damaged file header" + at_offset(0) + " (checksum)",
                 "record the trace again"};
  }
  Indexer(input, index, problems).run(index.file.header_size);
  return index;
}

Result<std::vector<uint8_t>> load_payload(const Input& input, const Chunk& chunk, size_t padding) {
  const dht_chunk_header& header = chunk.header;
  const bool compressed = (header.flags & DHT_CHUNK_ZSTD) != 0;
  std::vector<uint8_t> stored(header.stored_size + (compressed ? 0 : padding));
  const size_t got =
      input.read(chunk.offset + header.header_size, stored.data(), header.stored_size);
  if (got != header.stored_size) return Error{"its payload is cut", {}};
  if (!chunk.is_open() && dht_crc32c(stored.data(), header.stored_size) != header.payload_crc) {
    return Error{"its payload does not match its checksum", {}};
  }
  if (!compressed) return stored;
  std::vector<uint8_t> raw(header.raw_size + padding);
  const size_t size = ZSTD_decompress(raw.data(), header.raw_size, stored.data(), stored.size());
  if (ZSTD_isError(size) || size != header.raw_size)
    return Error{"its payload does not decompress", {}};
  return raw;
}

}  // namespace deadheat::trace
