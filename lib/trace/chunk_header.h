// Creates and checks the fixed headers of the container.
#pragma once

#include <cstddef>
#include <cstring>

#include "abi/crc32c.h"
#include "abi/trace_format.h"

namespace deadheat::trace {

static_assert(offsetof(dht_chunk_header, state) == DHT_IDENTITY_SIZE);

inline uint32_t checksum(dht_file_header header) {
  header.header_crc = 0;
  return dht_crc32c(&header, sizeof header);
}
inline uint32_t identity_checksum(dht_chunk_header header) {
  header.identity_crc = 0;
  return dht_crc32c(&header, DHT_IDENTITY_SIZE);
}
inline uint32_t commit_checksum(dht_chunk_header header) {
  header.commit_crc = 0;
  return dht_crc32c(&header.state, sizeof header - DHT_IDENTITY_SIZE);
}

inline dht_file_header make_file_header(uint32_t flags) {
  dht_file_header header{};
  std::memcpy(header.magic, DHT_MAGIC, sizeof header.magic);
  header.version = DHT_VERSION;
  header.header_size = sizeof header;
  header.flags = flags;
  header.first_stamp = 1;
  header.header_crc = checksum(header);
  return header;
}
inline bool has_magic(const dht_file_header& header) {
  return std::memcmp(header.magic, DHT_MAGIC, sizeof header.magic) == 0;
}
inline bool is_valid(const dht_file_header& header) {
  return has_magic(header) && header.header_crc == checksum(header);
}

// Writes the identity of a chunk whose space is reserved; the caller fills the commit fields.
inline void reserve(dht_chunk_header& header) {
  header.magic = DHT_CHUNK_MAGIC;
  header.header_size = sizeof header;
  header.identity_crc = identity_checksum(header);
  header.state = DHT_STATE_OPEN;
}
inline void seal(dht_chunk_header& header) {
  reserve(header);
  header.state = DHT_STATE_SEALED;
  header.commit_crc = commit_checksum(header);
}

// Whether the identity can be trusted and the sizes are within the format's limits.
inline bool has_valid_identity(const dht_chunk_header& header) {
  return header.magic == DHT_CHUNK_MAGIC && header.header_size >= sizeof header &&
         header.capacity >= header.header_size && header.capacity <= DHT_MAX_CAPACITY &&
         header.identity_crc == identity_checksum(header);
}
// Whether the commit part can be used: sealed and intact, or open with a length that fits.
inline bool has_valid_commit(const dht_chunk_header& header) {
  if (header.stored_size > header.capacity - header.header_size ||
      header.stored_size > DHT_MAX_RAW_SIZE)
    return false;
  if (header.state == DHT_STATE_OPEN) return (header.flags & DHT_CHUNK_ZSTD) == 0;
  return header.state == DHT_STATE_SEALED && header.commit_crc == commit_checksum(header) &&
         header.raw_size <= DHT_MAX_RAW_SIZE &&
         ((header.flags & DHT_CHUNK_ZSTD) != 0 || header.raw_size == header.stored_size);
}

}  // namespace deadheat::trace
