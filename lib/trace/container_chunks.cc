// Moves a stream of a container from one chunk to the next: continuity, damage, memory.
#include <algorithm>

#include "lib/trace/container_source.h"
#include "lib/trace/container_stream.h"

namespace deadheat::trace {
namespace {

std::string name_of(const StreamKey& key) {
  return std::to_string(key.pid) + "/" + std::to_string(key.tid);
}

}  // namespace

bool ContainerSource::open_next_chunk(Stream& stream) {
  stream.started = true;
  while (!stream.ended && stream.next_chunk < stream.chunks.size()) {
    const Chunk& chunk = index_.chunks[stream.chunks[stream.next_chunk]];
    if (!check_continuity(stream, chunk)) return false;
    ++stream.next_chunk;
    if (load(stream)) return true;
    // The header is sound, so the loss is known: later chunks are compared with its base.
    ++losses_.chunks_lost;
    losses_.events_lost += chunk.header.events;
  }
  if (!stream.ended) {
    const Chunk& last = index_.chunks[stream.chunks.back()];
    end_stream(stream, last.is_last() && stream.last_stamp == last.header.last_stamp);
  }
  return false;
}

// Checks that `chunk` continues what was read of the stream. Lost unstamped accesses are only
// counted. Lost stamps set the horizon, unless stamps are dense: then the merge finds the gap
// itself, and at a later stamp.
bool ContainerSource::check_continuity(Stream& stream, const Chunk& chunk) {
  const uint64_t expected =
      stream.next_chunk == 0
          ? 0
          : index_.chunks[stream.chunks[stream.next_chunk - 1]].header.sequence + 1;
  const bool missing = chunk.header.sequence != expected;
  if (missing) {
    losses_.chunks_lost += chunk.header.sequence - expected;
    if (problems_.wants_text()) {
      problems_.add("stream " + name_of(stream.key) + ": chunks " + std::to_string(expected) +
                    " to " + std::to_string(chunk.header.sequence - 1) +
                    " are missing before offset " + std::to_string(chunk.offset));
    }
  }
  if (stream.next_chunk == 0 && !missing) {
    stream.last_stamp = chunk.header.base_stamp;
    return true;
  }
  if (chunk.header.base_stamp < stream.last_stamp) {
    break_stream(stream, "stamps go backwards from " + std::to_string(stream.last_stamp) + " to " +
                             std::to_string(chunk.header.base_stamp) + " at offset " +
                             std::to_string(chunk.offset));
    return false;
  }
  if (chunk.header.base_stamp > stream.last_stamp && !dense_stamps()) {
    if (!options_.ignore_gaps) {
      end_stream(stream, false);
      return false;
    }
    ++losses_.gaps_ignored;
  }
  stream.last_stamp = chunk.header.base_stamp;
  return true;
}

bool ContainerSource::load(Stream& stream) {
  const Chunk& chunk = index_.chunks[stream.chunks[stream.next_chunk - 1]];
  make_room(stream, chunk.header.raw_size);
  auto payload = load_payload(input_, chunk, ChunkDecoder::kPadding);
  if (!payload) {
    if (problems_.wants_text()) {
      problems_.add("damaged chunk at offset " + std::to_string(chunk.offset) + ": " +
                    payload.error().message + "; " + std::to_string(chunk.header.events) +
                    " events of stream " + name_of(stream.key) + " lost");
    }
    return false;
  }
  if (chunk.is_open()) ++losses_.chunks_unsealed;
  stream.payload = std::move(*payload);
  stream.decoder.start(stream.payload.data(), stream.payload.size() - ChunkDecoder::kPadding,
                       chunk.header.base_stamp, (chunk.header.flags & DHT_CHUNK_EVERY_STAMPED) != 0,
                       stream.key, stream.thread, this);
  stream.loaded = true;
  count_memory(stream);
  return true;
}

void ContainerSource::count_memory(Stream& stream) {
  loaded_bytes_ -= stream.memory;
  stream.memory = stream.payload.capacity() + stream.decoder.memory();
  loaded_bytes_ += stream.memory;
}

// Drops the chunks of all other streams at the memory limit; reload() brings one back when its turn
// comes. Crude, but never needed below a thousand threads at default sizes.
void ContainerSource::make_room(const Stream& keep, uint64_t bytes) {
  if (loaded_bytes_ + bytes <= options_.memory_limit) return;
  for (auto& stream : streams_) {
    if (stream.get() == &keep || stream.get() == current_ || !stream->loaded) continue;
    stream->payload = {};
    stream->decoder.release_memory();
    stream->loaded = false;
    count_memory(*stream);
  }
}

bool ContainerSource::reload(Stream& stream) {
  const Chunk& chunk = index_.chunks[stream.chunks[stream.next_chunk - 1]];
  make_room(stream, chunk.header.raw_size);
  auto payload = load_payload(input_, chunk, ChunkDecoder::kPadding);
  const size_t offset =
      stream.has_pending ? stream.decoder.pending_offset() : stream.decoder.offset();
  if (!payload || payload->size() < offset + ChunkDecoder::kPadding) {
    break_stream(stream, "the chunk at offset " + std::to_string(chunk.offset) +
                             " changed while it was read");
    return false;
  }
  stream.payload = std::move(*payload);
  stream.decoder.start(stream.payload.data(), offset, chunk.header.base_stamp,
                       (chunk.header.flags & DHT_CHUNK_EVERY_STAMPED) != 0, stream.key,
                       stream.thread, this);
  Event scratch[64];
  for (;;) {
    Event* out = scratch;
    const auto stop = stream.decoder.run(out, scratch + 64);
    if (stop == ChunkDecoder::Stop::kEnd || stop == ChunkDecoder::Stop::kBad) break;
  }
  stream.decoder.extend(stream.payload.size() - ChunkDecoder::kPadding);
  Event* none = nullptr;
  auto stop = ChunkDecoder::Stop::kPending;
  // The reads that precede the pending event were delivered before.
  if (stream.has_pending) do {
      stop = stream.decoder.run(none, none);
    } while (stop == ChunkDecoder::Stop::kPending && stream.decoder.pending().stamp == kUnstamped &&
             stream.pending_stamp != kUnstamped);
  if (stream.has_pending && (stop != ChunkDecoder::Stop::kPending ||
                             stream.decoder.pending().stamp != stream.pending_stamp)) {
    break_stream(stream, "the chunk at offset " + std::to_string(chunk.offset) +
                             " changed while it was read");
    return false;
  }
  stream.loaded = true;
  count_memory(stream);
  return true;
}

void ContainerSource::leave_chunk(Stream& stream, bool damaged) {
  const Chunk& chunk = index_.chunks[stream.chunks[stream.next_chunk - 1]];
  stream.last_stamp = stream.decoder.stamp();
  losses_.unknown_records += stream.decoder.unknown_records();
  const bool short_of_stamps = !chunk.is_open() && stream.last_stamp != chunk.header.last_stamp;
  if (!damaged && !short_of_stamps) return;
  ++losses_.chunks_lost;
  if (chunk.header.events > stream.decoder.events())
    losses_.events_lost += chunk.header.events - stream.decoder.events();
  if (problems_.wants_text()) {
    problems_.add(std::string(damaged ? "malformed record" : "fewer events than announced") +
                  " at offset " + std::to_string(chunk.offset + chunk.header.header_size) +
                  ((chunk.header.flags & DHT_CHUNK_ZSTD) != 0 ? " (decompressed) + " : " + ") +
                  std::to_string(stream.decoder.offset()) + " of stream " + name_of(stream.key) +
                  "; the rest of its chunk is lost");
  }
}

void ContainerSource::end_stream(Stream& stream, bool in_good_order) {
  stream.ended = true;
  stream.loaded = stream.has_pending = false;
  stream.payload = {};
  stream.decoder.release_memory();
  count_memory(stream);
  if (in_good_order) return;
  ++losses_.streams_unfinished;
  if (dense_stamps()) return;
  if (options_.ignore_gaps) {
    ++losses_.gaps_ignored;
  } else {
    stop_at_gap();
  }
}

void ContainerSource::break_stream(Stream& stream, const std::string& why) {
  ++losses_.streams_broken;
  if (problems_.wants_text())
    problems_.add("stream " + name_of(stream.key) + ": " + why + "; the stream ends there");
  end_stream(stream, false);
}

}  // namespace deadheat::trace
