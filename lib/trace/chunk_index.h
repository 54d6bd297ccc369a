// Locates the chunks of a trace by hopping from header to header, without reading
// payloads.
//
// Damage is skipped: in bytes that are no chunk, the search goes on for the next valid
// header. A file truncated or torn inside a chunk keeps all other chunks. Every number in
// a header is checked against the file's size before memory is allocated for it.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/trace_format.h"
#include "lib/base/result.h"
#include "lib/trace/input.h"
#include "lib/trace/problems.h"

namespace deadheat::trace {

struct Chunk {
  uint64_t offset = 0;  // of its header
  dht_chunk_header header{};

  bool is_open() const { return header.state == DHT_STATE_OPEN; }
  bool is_last() const { return !is_open() && (header.commit_flags & DHT_COMMIT_LAST) != 0; }
};

struct ChunkIndex {
  dht_file_header file{};
  uint64_t file_size = 0;
  std::vector<Chunk> chunks;     // in file order; headers are valid, payloads lie within the file
  uint64_t garbage_bytes = 0;    // not part of any chunk
  uint64_t damaged_headers = 0;  // chunks with a known position but an unusable commit part
  bool cut = false;              // the file ends inside a chunk
};

// Fails if the file is not a Deadheat trace or has another version.
Result<ChunkIndex> index_chunks(const Input& input, Problems& problems);

// The records of a chunk, decompressed, followed by `padding` zero bytes. An Error describes the
// damage.
Result<std::vector<uint8_t>> load_payload(const Input& input, const Chunk& chunk, size_t padding);

}  // namespace deadheat::trace
