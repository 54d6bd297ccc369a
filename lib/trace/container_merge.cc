// The two merges of a container's streams (container_source.h says which is used when).
#include <algorithm>

#include "lib/trace/container_source.h"
#include "lib/trace/container_stream.h"
#include "lib/trace/event_names.h"

namespace deadheat::trace {
namespace {

// Ranges of regions that one batch may hold (64 MiB).
constexpr size_t kMaxBatchRanges = 4 << 20;

}  // namespace

Batch ContainerSource::next_merged() {
  Event* const begin = events_.data();
  Event* const end = begin + events_.size();
  Event* out = begin;
  while (out < end) {
    if (current_ == nullptr && (current_ = next_turn()) == nullptr) break;
    Stream& stream = *current_;
    if (stream.has_pending) {
      emit_pending(stream, out++);
      continue;
    }
    const Event* const before = out;
    const auto stop = stream.decoder.run(out, end);
    if (stream.space != 0) place_in_space(stream, events_.data() + (before - begin), out);
    if (locating_) note_chunk(stream, before, out);
    if (stop == ChunkDecoder::Stop::kFull) break;
    if (stop == ChunkDecoder::Stop::kPending) {
      stream.has_pending = true;
      stream.pending_stamp = stream.decoder.pending().stamp;
      if (stream.pending_stamp == kUnstamped) continue;
      if (goes_first(stream)) {
        if (!accept_stamp(stream)) current_ = nullptr;
      } else {
        count_memory(stream);
        turns_.push_back({stream.pending_stamp, false, stream.number});
        std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
        current_ = nullptr;
      }
      continue;
    }
    leave_chunk(stream, stop == ChunkDecoder::Stop::kBad);
    if (!open_next_chunk(stream)) current_ = nullptr;
  }
  return {{begin, static_cast<size_t>(out - begin)}, ranges_};
}

bool ContainerSource::goes_first(const Stream& stream) const {
  return turns_.empty() || Turn{stream.pending_stamp, false, stream.number} < turns_.front();
}

// The stream whose turn is next, with its pending event accepted (or at its start); null at the end
// or at the horizon.
ContainerSource::Stream* ContainerSource::next_turn() {
  while (!finished_) {
    if (turns_.empty()) {
      finished_ = true;
      break;
    }
    std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
    const Turn turn = turns_.back();
    turns_.pop_back();
    Stream& stream = *streams_[turn.stream];
    if (turn.start) {
      if (open_next_chunk(stream)) return &stream;
      continue;
    }
    if (!stream.loaded && !reload(stream)) continue;
    if (accept_stamp(stream)) return &stream;
  }
  return nullptr;
}

bool ContainerSource::accept_stamp(Stream& stream) {
  const uint64_t stamp = stream.pending_stamp;
  if (finished_) return false;
  if (stamp <= last_stamp_) {
    const Chunk& chunk = index_.chunks[stream.chunks[stream.next_chunk - 1]];
    break_stream(stream, "stamp " + std::to_string(stamp) +
                             " was given before or goes backwards (after " +
                             std::to_string(last_stamp_) + "), in the chunk at offset " +
                             std::to_string(chunk.offset));
    return false;
  }
  if (dense_stamps() && stamp != last_stamp_ + 1 && !was_never_written(stamp - last_stamp_ - 1)) {
    if (!options_.ignore_gaps) {
      stop_at_gap();
      return false;
    }
    ++losses_.gaps_ignored;
  }
  last_stamp_ = stamp;
  return true;
}

// Whether missing stamps belong to writers that were killed before they wrote the event: no thread
// saw it happen, so nothing depends on it. With any damage, a gap may have another cause.
bool ContainerSource::was_never_written(uint64_t stamps) {
  const bool damaged = index_.damaged_headers > 0 || index_.garbage_bytes > 0 || index_.cut ||
                       losses_.chunks_lost > 0 || losses_.streams_broken > 0;
  if (damaged || stamps > killed_stamping_ - losses_.stamps_unwritten) return false;
  losses_.stamps_unwritten += stamps;
  return true;
}

void ContainerSource::emit_pending(Stream& stream, Event* to) {
  ChunkDecoder::Pending& pending = stream.decoder.pending();
  *to = pending.event;
  if (!pending.ranges.empty()) {
    to->other = static_cast<uint32_t>(ranges_.size());
    if (ranges_.size() + pending.ranges.size() <= kMaxBatchRanges) {
      ranges_.insert(ranges_.end(), pending.ranges.begin(), pending.ranges.end());
    } else {
      // Replace them by one range over all of them: the region then reaches more than it did, which
      // can hide a race but never invents one.
      Range all = pending.ranges[0];
      for (const Range& range : pending.ranges)
        all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
      ranges_.push_back(all);
      to->size = 1;
      ++losses_.regions_coarsened;
    }
  }
  if (stream.space != 0) {
    place_in_space(stream, to, to + 1);
    for (size_t i = pending.ranges.empty() ? ranges_.size() : to->other; i < ranges_.size(); ++i)
      ranges_[i] = {ranges_[i].begin + stream.space, ranges_[i].end + stream.space};
  }
  stream.has_pending = false;
  if (locating_) note_chunk(stream, to, to + 1);
}

void ContainerSource::place_in_space(const Stream& stream, Event* from, Event* to) {
  for (; from < to; ++from)
    if (from->address - 1 < kSpaceSize - 1 && has_address(from->kind))  // 0: unknown
      from->address += stream.space;
}

// Each stamp of the window has its place in events_; a place left empty is a lost event.
Batch ContainerSource::next_window() {
  if (last_stamp_ >= kLastStamp) {  // no recording gets this far; continuing would wrap around
    finished_ = stopped_at_gap_ = true;
    problems_.add("stamps beyond 2^63 cannot be; what carries them is left out");
  }
  if (finished_) return {};
  const uint64_t begin = last_stamp_ + 1;
  for (Event& event : events_) event.kind = EventKind::kCount;
  while (!turns_.empty() &&
         (turns_.back().stamp < begin || turns_.back().stamp - begin < events_.size())) {
    Stream& stream = *streams_[turns_.back().stream];
    turns_.pop_back();
    if (open_next_chunk(stream)) active_.push_back(&stream);
  }
  uint64_t stored = 0;
  for (Stream* stream : active_) fill_window(*stream, stored);
  std::erase_if(active_, [](const Stream* stream) { return stream->ended; });
  return {{events_.data(), close_window(stored)}, ranges_};
}

void ContainerSource::fill_window(Stream& stream, uint64_t& stored) {
  current_ = &stream;  // keeps its chunk in memory
  while (!stream.ended) {
    if (stream.has_pending && !place_pending(stream, stored)) break;
    if (!stream.loaded && !reload(stream)) break;
    ChunkDecoder::Stop stop;
    if (stream.decoder.every_stamped()) {
      const uint64_t before = stored;
      stop = stream.decoder.scatter(events_.data(), last_stamp_ + 1, events_.size(), stored);
      if (locating_ && stored != before)
        note_chunk(stream, events_.data(), events_.data() + events_.size());
    } else {
      Event* none = nullptr;
      stop = stream.decoder.run(none, none);
    }
    if (stop == ChunkDecoder::Stop::kPending) {
      stream.has_pending = true;
      stream.pending_stamp = stream.decoder.pending().stamp;
    }
    if (stop == ChunkDecoder::Stop::kFull ||
        (stop == ChunkDecoder::Stop::kPending && stream.pending_stamp == kUnstamped)) {
      break_stream(stream,
                   "an event without a stamp in a totally ordered trace, in the chunk at offset " +
                       std::to_string(index_.chunks[stream.chunks[stream.next_chunk - 1]].offset));
    } else if (stop == ChunkDecoder::Stop::kEnd || stop == ChunkDecoder::Stop::kBad) {
      leave_chunk(stream, stop == ChunkDecoder::Stop::kBad);
      open_next_chunk(stream);
    }
  }
  count_memory(stream);
  current_ = nullptr;
}

// Returns false if the pending event belongs to a later window (or its stamp is impossible, which
// ends the stream).
bool ContainerSource::place_pending(Stream& stream, uint64_t& stored) {
  const uint64_t stamp = stream.pending_stamp;
  const uint64_t place = stamp - (last_stamp_ + 1);
  if (stamp > last_stamp_ && place >= events_.size()) return false;
  if (stamp <= last_stamp_ || events_[place].kind != EventKind::kCount) {
    break_stream(stream,
                 "stamp " + std::to_string(stamp) + " was given before, in the chunk at offset " +
                     std::to_string(index_.chunks[stream.chunks[stream.next_chunk - 1]].offset));
    return false;
  }
  if (!stream.loaded && !reload(stream)) return false;
  emit_pending(stream, &events_[place]);
  ++stored;
  return true;
}

// Returns how many events of the window are usable; moves last_stamp_ past them.
size_t ContainerSource::close_window(uint64_t stored) {
  if (stored == events_.size()) {
    last_stamp_ += stored;
    return stored;
  }
  size_t hole = 0;
  while (events_[hole].kind != EventKind::kCount) ++hole;
  const bool more = stored > hole || !active_.empty() || !turns_.empty();
  if (!options_.ignore_gaps || !more) {
    last_stamp_ += hole;
    finished_ = true;
    stopped_at_gap_ = more;
    return hole;
  }
  ++losses_.gaps_ignored;
  uint64_t next = last_stamp_ + events_.size();
  if (stored == 0) {
    next = ~0ULL;
    for (Stream* stream : active_) next = std::min(next, stream->pending_stamp - 1);
    if (!turns_.empty()) next = std::min(next, turns_.back().stamp);
  }
  last_stamp_ = std::max(next, last_stamp_ + 1);
  return drop_holes();
}

// Compacts the events of a window; returns how many there are.
size_t ContainerSource::drop_holes() {
  size_t kept = 0;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].kind == EventKind::kCount) continue;
    if (locating_) chunk_of_[kept] = chunk_of_[i];
    events_[kept++] = events_[i];
  }
  return kept;
}

}  // namespace deadheat::trace
