// The reading position of one stream. Private to ContainerSource.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/trace/container_source.h"

namespace deadheat::trace {

struct ContainerSource::Stream {
  StreamKey key;
  ThreadId thread = 0;
  uint32_t number = 0;           // in streams_
  uint64_t space = 0;            // added to its addresses; 0 for the first process
  std::vector<uint32_t> chunks;  // numbers in the index, by sequence

  size_t next_chunk = 0;  // in `chunks`; the open chunk is the one before
  bool started = false, ended = false, loaded = false, has_pending = false;
  uint64_t pending_stamp = 0;  // of the decoder's pending event, if has_pending
  uint64_t last_stamp = 0;     // highest stamp decoded (or known to be lost) so far
  std::vector<uint8_t> payload;
  ChunkDecoder decoder;
  uint64_t memory = 0;  // of payload and decoder, as included in loaded_bytes_

  void start_over() {
    next_chunk = 0;
    started = ended = loaded = has_pending = false;
    last_stamp = 0;
    payload = {};
    decoder.release_memory();
    memory = 0;
  }
};

}  // namespace deadheat::trace
