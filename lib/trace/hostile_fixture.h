// Shared by tests of damaged and truncated containers: small traces, hand-made chunks, and reading
// whatever is readable.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <zstd.h>

#include <cstring>

#include "lib/trace/chunk_header.h"
#include "lib/trace/trace_fixture.h"
#include "lib/trace/varint.h"

namespace deadheat::trace {

using Bytes = std::vector<uint8_t>;

inline Event access(ThreadId thread, uint64_t address, bool stamped = true) {
  Event event{.address = address, .size = 8, .thread = thread};
  event.kind = EventKind::kWrite;
  event.stamped = stamped;
  return event;
}

inline Event lock(ThreadId thread, EventKind kind = EventKind::kAcquire) {
  Event event{.address = 0x77, .size = 0, .thread = thread};
  event.kind = kind;
  return event;
}

inline Bytes bytes_of(const std::string& path) {
  const std::string text = *read_file(path);
  return Bytes(text.begin(), text.end());
}

inline uint32_t number_in(const std::string& text) {
  const size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(text.substr(digit)));
}

struct Reading {
  bool opened = false;
  std::vector<WholeEvent> events;
  std::vector<std::string> problems;
  Counters counters;

  uint64_t counter(std::string_view name) const {
    for (const Counter& entry : counters) {
      if (entry.name == name) return entry.value;
    }
    return ~0ULL;
  }
};

inline Reading read(const Bytes& bytes, const ContainerOptions& options = {}) {
  Reading reading;
  auto source = ContainerSource::open(Input::from_memory(bytes, "bytes"), options);
  if (!source) {
    reading.problems.push_back(source.error().message);
    return reading;
  }
  reading.opened = true;
  reading.events = read_all(**source);
  // Numbers of threads and sites depend on what survived; names do not.
  for (WholeEvent& event : reading.events) {
    event.event.thread = number_in((*source)->thread_name(event.event.thread));
    if (names_thread(event.event.kind))
      event.event.other = number_in((*source)->thread_name(event.event.other));
    if (event.event.site != kNoSite)
      event.event.site = number_in((*source)->site(event.event.site).label);
  }
  reading.problems.assign((*source)->problems().begin(), (*source)->problems().end());
  reading.counters = (*source)->counters();
  EXPECT_LE(reading.problems.size(), Problems::kMaxLines + 1);
  return reading;
}

// A small trace of three threads in many chunks.
inline Bytes small_trace(bool total_order, bool dense, int zstd_level,
                         std::vector<WholeEvent>* events = nullptr) {
  ScratchFile file;
  WriterOptions options;
  options.chunk_size = 120;
  options.total_order = total_order;
  options.dense_stamps = dense;
  options.zstd_level = zstd_level;
  auto writer = TraceWriter::create(file.path(), options);
  Random random(7);
  for (uint32_t i = 0; i < 10; ++i)
    (*writer)->site(
        {.label = "line " + std::to_string(i), .module = {}, .build_id = {}, .offset = 0});
  for (int i = 0; i < 120; ++i) {
    const WholeEvent made = random_event(random, static_cast<ThreadId>(random.below(3)), 3, 10);
    (*writer)->stream(made.event.thread).append(made.event, made.ranges);
  }
  EXPECT_TRUE((*writer)->close());
  Bytes bytes = bytes_of(file.path());
  if (events != nullptr) {
    const Reading reading = read(bytes);
    EXPECT_TRUE(reading.problems.empty());
    *events = reading.events;
  }
  return bytes;
}

inline Bytes file_header(uint32_t flags) {
  const dht_file_header header = make_file_header(flags);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  return Bytes(bytes, bytes + sizeof header);
}

inline void append_chunk(Bytes& file, dht_chunk_header header, const Bytes& payload) {
  header.stored_size = payload.size();
  if ((header.flags & DHT_CHUNK_ZSTD) == 0) header.raw_size = payload.size();
  header.payload_crc = dht_crc32c(payload.data(), payload.size());
  if (header.capacity == 0) header.capacity = sizeof header + payload.size();
  seal(header);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  file.insert(file.end(), bytes, bytes + sizeof header);
  file.insert(file.end(), payload.begin(), payload.end());
}

inline dht_chunk_header thread_chunk(uint32_t tid, uint64_t sequence, uint64_t base, uint64_t last,
                                     uint64_t events) {
  dht_chunk_header header{};
  header.domain = DHT_DOMAIN_THREAD;
  header.pid = 1;
  header.tid = tid;
  header.sequence = sequence;
  header.base_stamp = base;
  header.last_stamp = last;
  header.events = events;
  return header;
}

// `count` stamped acquires of one lock, `step` stamps apart.
inline Bytes locks(int count, uint64_t step = 1) {
  Bytes payload;
  for (int i = 0; i < count; ++i) {
    Bytes body = {DHT_EVENT_STAMPED};
    put_varint(body, step);
    body.push_back(0);
    body.push_back(0);
    payload.push_back(DHT_RECORD_EVENT + DHT_ACQUIRE);
    put_varint(payload, body.size());
    payload.insert(payload.end(), body.begin(), body.end());
  }
  return payload;
}

}  // namespace deadheat::trace
