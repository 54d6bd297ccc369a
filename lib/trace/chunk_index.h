// Where the chunks of a trace are: found by hopping from header to header, without reading
// payloads.
//
// Damage is stepped over: bytes that are no chunk are searched for the next header that checks out.
// A file cut or torn in the middle of a chunk keeps all other chunks. Every number in a header is
// held against the file's size before anything is allocated for it.
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
  uint64_t garbage_bytes = 0;    // belong to no chunk
  uint64_t damaged_headers = 0;  // chunks whose place is known and whose commit part is not usable
  bool cut = false;              // the file ends within a chunk
};

// An Error if this is no trace of ours at all, or of another version.
Result<ChunkIndex> index_chunks(const Input& input, Problems& problems);

// The records of a chunk, decompressed, followed by `padding` zero bytes. An Error says what is
// wrong with them.
Result<std::vector<uint8_t>> load_payload(const Input& input, const Chunk& chunk, size_t padding);

}  // namespace deadheat::trace
