// Traces outlive their writers: killed writers, several at once, and the remains when a part is
// missing.
#include "lib/trace/hostile_fixture.h"

namespace deadheat::trace {
namespace {

TEST(Killed, CompleteChunksSurvive) {
  ScratchFile file;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    WriterOptions options;
    options.chunk_size = 256;
    auto writer = TraceWriter::create(file.path(), options);
    for (uint64_t i = 0; i < 1000; ++i) (*writer)->stream(0).append(access(0, i * 4096));
    (*writer)->stream(0).flush();
    for (uint64_t i = 0; i < 3; ++i) (*writer)->stream(0).append(access(0, i));
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  {  // while it is being written
    auto source = open_container(file.path());
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(read_all(*source).size(), 1000U);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto source = open_container(file.path());
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(read_all(*source).size(), 1000U);
  EXPECT_EQ(counter(*source, "streams_unfinished"), 1U);
  EXPECT_EQ(counter(*source, "events_beyond_gap"), 0U);
  EXPECT_FALSE(source->problems().empty());
  ::close(ready[0]);
  ::close(ready[1]);
}

// As the in-process recorder does: reserve an extent, map it, commit a length after each
// record.
TEST(Killed, OpenSharedChunkIsReadUpToItsCommittedLength) {
  constexpr size_t kCapacity = 1 << 16;
  ScratchFile file;
  {
    Bytes start = file_header(DHT_FILE_DENSE_STAMPS);
    start.resize(start.size() + 2 * kCapacity);
    ASSERT_TRUE(
        write_file(file.path(), {reinterpret_cast<const char*>(start.data()), start.size()}));
  }
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int fd = ::open(file.path().c_str(), O_RDWR);
    auto* base = static_cast<uint8_t*>(::mmap(nullptr, sizeof(dht_file_header) + 2 * kCapacity,
                                              PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (base == MAP_FAILED) ::_exit(1);
    auto* header = reinterpret_cast<dht_chunk_header*>(base + sizeof(dht_file_header));
    *header = thread_chunk(5, 0, 0, 0, 0);
    header->capacity = kCapacity;
    reserve(*header);
    const Bytes payload = locks(100);
    std::memcpy(header + 1, payload.data(), payload.size());
    __atomic_store_n(&header->stored_size, payload.size() - 6,
                     __ATOMIC_RELEASE);  // the last record is not committed
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto source = open_container(file.path());
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(read_all(*source).size(), 99U);
  EXPECT_EQ(counter(*source, "chunks_unsealed"), 1U);
  EXPECT_EQ(counter(*source, "garbage_bytes"), 0U)
      << "the second extent was never used: zeroes are no damage";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Processes, SeveralAppendToOneTrace) {
  ScratchFile file;
  auto* stamps = static_cast<std::atomic<uint64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(stamps), MAP_FAILED);
  WriterOptions options;
  options.chunk_size = 300;
  options.shared_counter = stamps;
  options.pid = 100;
  auto first = TraceWriter::create(file.path(), options);
  ASSERT_TRUE(first);
  (*first)->stream(0).append(lock(0));
  std::vector<pid_t> children;
  for (uint32_t i = 1; i <= 3; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      WriterOptions own = options;
      own.pid = 100 + i;
      auto writer = TraceWriter::join(file.path(), own);
      if (!writer) ::_exit(1);
      const SiteId site = (*writer)->site(
          {.label = {}, .module = "/bin/p" + std::to_string(i), .build_id = "ab", .offset = i});
      for (uint64_t n = 0; n < 2000; ++n) {
        Event event = access(0, n * 8);
        event.site = site;
        (*writer)->stream(n % 2).append(event);
      }
      ::_exit((*writer)->close() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ASSERT_TRUE((*first)->close());
  auto source = open_container(file.path());
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(read_all(*source).size(), 6001U);
  for (const std::string& line : source->problems()) ADD_FAILURE() << line;
  EXPECT_EQ(source->thread_count(), 7U);
  EXPECT_EQ(source->metadata().processes.size(), 4U);
  EXPECT_EQ(source->thread_name(0), "100/0");
  EXPECT_EQ(source->site_count(), 3U);
  ::munmap(stamps, 4096);
}

TEST(Modules, WithoutTheirNameRecordShowTheirNumber) {
  Bytes file = file_header(DHT_FILE_DENSE_STAMPS);
  Bytes payload = {DHT_RECORD_SITE, 4, 1, 0, 3, 0x12};
  payload.insert(payload.end(), {DHT_RECORD_EVENT + DHT_ACQUIRE, 4, DHT_EVENT_STAMPED, 1, 1, 0});
  append_chunk(file, thread_chunk(1, 0, 0, 1, 1), payload);
  auto source = ContainerSource::open(Input::from_memory(file, "x"));
  ASSERT_TRUE(source);
  const auto events = read_all(**source);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ((*source)->site(events[0].event.site).module, "module 3");
  EXPECT_EQ(counter(**source, "modules_unnamed"), 1U);
}

TEST(Checksum, InstructionAndTableAgree) {
  Random random(3);
  for (size_t size = 0; size < 100; ++size) {
    Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    EXPECT_EQ(dht_crc32c(bytes.data(), size), dht_crc32c_portable(bytes.data(), size));
  }
  EXPECT_EQ(dht_crc32c("123456789", 9), 0xe3069283U);
}

}  // namespace
}  // namespace deadheat::trace
