// Damaged and malicious containers: one clear line with the offset, the readable part is kept, no
// crash and no excessive memory.
#include "lib/trace/hostile_fixture.h"

namespace deadheat::trace {
namespace {

TEST(Hostile, EveryTruncation) {
  for (const bool total : {true, false}) {
    std::vector<WholeEvent> all;
    const Bytes whole_file = small_trace(total, true, 0, &all);
    size_t most = 0;
    for (size_t size = 0; size < whole_file.size(); ++size) {
      const Reading reading =
          read(Bytes(whole_file.begin(), whole_file.begin() + static_cast<ptrdiff_t>(size)));
      // Only truncation of the padding after the last chunk can go unnoticed.
      ASSERT_TRUE(!reading.problems.empty() ||
                  (size + 8 > whole_file.size() && reading.events.size() == all.size()))
          << "cut at " << size;
      ASSERT_LE(reading.events.size(), all.size());
      if (total) {
        ASSERT_TRUE(std::equal(reading.events.begin(), reading.events.end(), all.begin()))
            << "cut at " << size;
      }
      most = std::max(most, reading.events.size());
    }
    EXPECT_EQ(most, all.size()) << "cutting only the end mark loses no event";
  }
}

TEST(Hostile, BitFlips) {
  constexpr uint64_t kSeed = 20;
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  Random random(kSeed);
  for (const int zstd_level : {0, 1}) {
    for (const int order : {0, 1, 2}) {
      std::vector<WholeEvent> all;
      const Bytes sound = small_trace(order == 0, order != 2, zstd_level, &all);
      for (int i = 0; i < 700; ++i) {
        Bytes bytes = sound;
        const uint64_t flips = 1 + random.below(4);
        for (uint64_t flip = 0; flip < flips; ++flip)
          bytes[random.below(bytes.size())] ^= static_cast<uint8_t>(1U << random.below(8));
        const Reading reading = read(bytes);
        ASSERT_TRUE(!reading.problems.empty() || reading.events == all) << "flip " << i;
        read(bytes, {.ignore_gaps = true, .memory_limit = 4096, .batch_events = 16});
      }
    }
  }
}

// As from a writer with a bug: damaged payloads with valid checksums. This reaches the decoder,
// which bit flips rarely do.
TEST(Hostile, DamagedRecordsWithValidChecksums) {
  Random random(21);
  const Bytes sound = small_trace(false, true, 0);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = sound;
    size_t at = sizeof(dht_file_header);
    while (at < bytes.size()) {
      dht_chunk_header header;
      std::memcpy(&header, bytes.data() + at, sizeof header);
      if (header.stored_size > 0 && random.chance(0.2)) {
        bytes[at + sizeof header + random.below(header.stored_size)] ^=
            static_cast<uint8_t>(1 + random.below(255));
        header.payload_crc = dht_crc32c(bytes.data() + at + sizeof header, header.stored_size);
        seal(header);
        std::memcpy(bytes.data() + at, &header, sizeof header);
      }
      at += header.capacity;
    }
    read(bytes);
    read(bytes, {.ignore_gaps = true, .memory_limit = 1024, .batch_events = 7});
  }
}

TEST(Hostile, NotATrace) {
  EXPECT_FALSE(read(Bytes{}).opened);
  EXPECT_FALSE(read(Bytes(1000, 0)).opened);
  Bytes newer = file_header(0);
  newer[8] = 9;
  const Reading reading = read(newer);
  EXPECT_FALSE(reading.opened);
  EXPECT_EQ(reading.problems.at(0),
            "bytes: trace version 9 at offset 8; this deadheat reads version 1");
  const Reading empty = read(file_header(DHT_FILE_DENSE_STAMPS));
  EXPECT_TRUE(empty.opened);
  EXPECT_EQ(empty.problems.size(), 1U);
}

TEST(Hostile, GiganticCounts) {
  // A header whose sizes exceed the file; a region with 2^60 ranges; a text longer than the
  // payload; 2^62 events.
  for (const uint64_t size : {uint64_t{1} << 20, uint64_t{1} << 40, ~uint64_t{0}}) {
    Bytes file = file_header(DHT_FILE_DENSE_STAMPS);
    dht_chunk_header header = thread_chunk(1, 0, 0, 1, uint64_t{1} << 62);
    header.capacity = size;
    append_chunk(file, header, locks(1));
    EXPECT_FALSE(read(file).problems.empty());
  }
  Bytes file = file_header(DHT_FILE_DENSE_STAMPS);
  Bytes body = {0, 0, 0};
  put_varint(body, uint64_t{1} << 60);
  Bytes payload = locks(2);
  payload.push_back(DHT_RECORD_EVENT + DHT_REGION_BEGIN);
  put_varint(payload, body.size());
  payload.insert(payload.end(), body.begin(), body.end());
  append_chunk(file, thread_chunk(1, 0, 0, 2, uint64_t{1} << 62), payload);
  const Reading reading = read(file);
  EXPECT_EQ(reading.events.size(), 2U);
  ASSERT_GE(reading.problems.size(), 1U);
  EXPECT_NE(reading.problems[0].find("offset 168 + 12"), std::string::npos) << reading.problems[0];
}

TEST(Hostile, DecompressionBombsStayWithinTheLimit) {
  // 40 streams, each a frame of a few hundred bytes that decompresses to 1 MiB of accesses.
  Bytes raw(1 << 20);
  for (uint8_t& byte : raw)
    byte = DHT_COMPACT | DHT_COMPACT_PREDICTED;  // reads of one byte at the predicted address
  Bytes packed(ZSTD_compressBound(raw.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 1));
  Bytes file = file_header(DHT_FILE_DENSE_STAMPS);
  for (uint32_t tid = 0; tid < 40; ++tid) {
    dht_chunk_header header = thread_chunk(tid, 0, 0, 0, raw.size());
    header.flags = DHT_CHUNK_ZSTD;
    header.raw_size = raw.size();
    header.commit_flags = DHT_COMMIT_LAST;
    append_chunk(file, header, packed);
  }
  auto source = ContainerSource::open(Input::from_memory(file, "bomb"), {.memory_limit = 4 << 20});
  ASSERT_TRUE(source);
  uint64_t events = 0;
  for (auto batch = (*source)->next(); batch && !batch->events.empty(); batch = (*source)->next())
    events += batch->events.size();
  EXPECT_EQ(events, 40 * raw.size());
  // A frame with a false size is damage.
  Bytes liar = file_header(DHT_FILE_DENSE_STAMPS);
  dht_chunk_header header = thread_chunk(1, 0, 0, 0, 1);
  header.flags = DHT_CHUNK_ZSTD;
  header.raw_size = 100;
  append_chunk(liar, header, packed);
  EXPECT_EQ(read(liar).counter("chunks_lost"), 1U);
}

TEST(Hostile, UnknownRecordsAndDomainsAreSkippedAndCounted) {
  Bytes file = file_header(DHT_FILE_DENSE_STAMPS);
  Bytes payload = locks(1);
  payload.insert(payload.end(), {0x7e, 3, 1, 2, 3});
  const Bytes more = locks(1);
  payload.insert(payload.end(), more.begin(), more.end());
  dht_chunk_header header = thread_chunk(1, 0, 0, 2, 2);
  header.commit_flags = DHT_COMMIT_LAST;
  append_chunk(file, header, payload);
  header = thread_chunk(1, 0, 0, 2, 2);
  header.domain = 77;
  append_chunk(file, header, payload);
  const Reading reading = read(file);
  EXPECT_EQ(reading.events.size(), 2U);
  EXPECT_EQ(reading.counter("unknown_records"), 1U);
  EXPECT_EQ(reading.counter("unknown_domains"), 1U);
  EXPECT_TRUE(reading.problems.empty()) << reading.problems[0];
}

TEST(Hostile, CyclicAndDuplicateStamps) {
  Bytes cyclic = file_header(0);  // the second chunk of a stream lies before the first
  append_chunk(cyclic, thread_chunk(1, 0, 10, 12, 2), locks(2));
  append_chunk(cyclic, thread_chunk(1, 1, 5, 7, 2), locks(2));
  Reading reading = read(cyclic);
  EXPECT_EQ(reading.events.size(), 2U);
  EXPECT_EQ(reading.counter("streams_broken"), 1U);
  EXPECT_NE(reading.problems.at(0).find("backwards"), std::string::npos);
  EXPECT_NE(reading.problems.at(0).find("offset"), std::string::npos);

  for (const uint32_t flags :
       {DHT_FILE_DENSE_STAMPS, DHT_FILE_DENSE_STAMPS | DHT_FILE_TOTAL_ORDER, 0U}) {
    Bytes twice = file_header(flags);
    append_chunk(twice, thread_chunk(1, 0, 0, 2, 2), locks(2));
    append_chunk(twice, thread_chunk(2, 0, 0, 2, 2), locks(2));
    reading = read(twice);
    EXPECT_EQ(reading.counter("streams_broken"), 1U) << flags;
    EXPECT_LE(reading.events.size(), 2U);
  }
}

// A missing stamp may have been a release: nothing stamped later may be yielded, unless
// requested.
TEST(Horizon, DenseStampsStopAtTheFirstHole) {
  for (const bool total : {true, false}) {
    ScratchFile file;
    WriterOptions options;
    options.total_order = total;
    options.chunk_size = 64;
    auto writer = TraceWriter::create(file.path(), options);
    for (uint64_t i = 0; i < 200; ++i) (*writer)->stream(i % 2).append(lock(i % 2));
    ASSERT_TRUE((*writer)->close());
    Bytes bytes = bytes_of(file.path());
    auto index_problems = Problems();
    const auto index = index_chunks(Input::from_memory(bytes, "x"), index_problems);
    uint64_t base = 0, lost = 0, lost_at = 0;
    for (const Chunk& chunk : index.value().chunks) {
      if (chunk.header.domain != DHT_DOMAIN_THREAD || chunk.header.sequence != 3 ||
          chunk.header.tid != 1)
        continue;
      lost_at = chunk.offset;
      bytes[chunk.offset + sizeof(dht_chunk_header)] ^= 0x55;
      base = chunk.header.base_stamp;
      lost = chunk.header.events;
    }
    ASSERT_GT(lost, 0U);
    const Reading reading = read(bytes);
    EXPECT_EQ(reading.events.size(), base + 1)
        << "up to the other thread's event before the lost one";
    EXPECT_EQ(reading.counter("events_lost"), lost);
    EXPECT_EQ(reading.counter("events_beyond_gap"), 200 - lost - base - 1);
    const Reading all = read(bytes, {.ignore_gaps = true});
    EXPECT_EQ(all.events.size(), 200 - lost);
    EXPECT_GE(all.counter("gaps_ignored"), 1U);
    for (const size_t batch : {4096, 9}) {
      auto source = ContainerSource::open(Input::from_memory(bytes, "bytes"),
                                          {.ignore_gaps = true, .batch_events = batch});
      const std::vector<WholeEvent> events = read_all(**source);
      EXPECT_EQ((*source)->locate(numbers_to(events.size())), places_of(**source, events, lost_at));
    }
  }
}

TEST(Horizon, WithoutDenseStampsAStreamWithoutEndLimits) {
  Bytes file = file_header(0);
  dht_chunk_header header = thread_chunk(1, 0, 0, 30, 3);
  append_chunk(file, header, locks(3, 10));  // 10 20 30, no end mark
  header = thread_chunk(2, 0, 0, 75, 3);
  header.commit_flags = DHT_COMMIT_LAST;
  append_chunk(file, header, locks(3, 25));  // 25 50 75
  const Reading reading = read(file);
  EXPECT_EQ(reading.events.size(), 4U);  // 10 20 25 30
  EXPECT_EQ(reading.counter("events_beyond_gap"), 2U);
  EXPECT_EQ(read(file, {.ignore_gaps = true}).events.size(), 6U);
}

TEST(Horizon, LostUnstampedAccessesDoNotStop) {
  ScratchFile file;
  WriterOptions options;
  options.total_order = false;
  options.chunk_size = 64;
  auto writer = TraceWriter::create(file.path(), options);
  (*writer)->stream(0).append(lock(0));
  for (uint64_t i = 0; i < 200; ++i) (*writer)->stream(0).append(access(0, i * 1000, false));
  (*writer)->stream(0).append(lock(0));
  ASSERT_TRUE((*writer)->close());
  Bytes bytes = bytes_of(file.path());
  Problems problems;
  const auto index = index_chunks(Input::from_memory(bytes, "x"), problems);
  for (const Chunk& chunk : index.value().chunks) {
    if (chunk.header.domain == DHT_DOMAIN_THREAD && chunk.header.sequence == 2)
      bytes[chunk.offset + sizeof(dht_chunk_header)] ^= 1;
  }
  const Reading reading = read(bytes);
  EXPECT_EQ(reading.events.size() + reading.counter("events_lost"), 202U);
  EXPECT_EQ(reading.events.back().event.kind, EventKind::kAcquire);
  EXPECT_EQ(reading.counter("events_beyond_gap"), 0U);
}

TEST(Damage, GarbageBetweenChunksIsSteppedOver) {
  std::vector<WholeEvent> all;
  const Bytes sound = small_trace(true, true, 0, &all);
  Problems problems;
  const auto index = index_chunks(Input::from_memory(sound, "x"), problems);
  const uint64_t at = index.value().chunks[5].offset;
  Bytes bytes(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(at));
  for (int i = 0; i < 333; ++i) bytes.push_back(static_cast<uint8_t>(i * 7 + 1));
  bytes.insert(bytes.end(), sound.begin() + static_cast<ptrdiff_t>(at), sound.end());
  const Reading reading = read(bytes);
  EXPECT_TRUE(reading.events == all);
  EXPECT_EQ(reading.problems.at(0),
            "333 bytes at offset " + std::to_string(at) + " are no chunk; skipped");
}

// A process was killed during its write, and others appended: their chunks lie inside the torn
// chunk's claimed extent.
TEST(Damage, ChunksInsideATornChunksExtentAreFound) {
  std::vector<WholeEvent> all;
  const Bytes sound = small_trace(true, true, 0, &all);
  Bytes file = file_header(DHT_FILE_DENSE_STAMPS | DHT_FILE_TOTAL_ORDER);
  Bytes torn = file;
  append_chunk(torn, thread_chunk(9, 0, 5000, 5003, 3), Bytes(4000, 0x90));
  file.insert(file.end(), torn.begin() + static_cast<ptrdiff_t>(file.size()), torn.begin() + 700);
  file.insert(file.end(), sound.begin() + sizeof(dht_file_header), sound.end());
  const Reading reading = read(file);
  EXPECT_TRUE(reading.events == all);
  EXPECT_FALSE(reading.problems.empty());
}

}  // namespace
}  // namespace deadheat::trace
