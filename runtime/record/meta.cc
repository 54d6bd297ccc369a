#include "runtime/record/meta.h"

#include <fcntl.h>
#include <string.h>

#include "runtime/common/os.h"
#include "runtime/record/file.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kChunk = 16 << 10;
constexpr size_t kMaxCommand = 2048;
constexpr size_t kMaxModules = 4096;

struct Meta {
  Lock lock;
  dht_chunk_header* chunk = nullptr;
  uint64_t sequence = 0;
  uint64_t modules[kMaxModules / 64] = {};  // those with a record
};
Meta meta;

// One record, built separately and appended as a unit.
class Record {
 public:
  explicit Record(uint8_t tag) { bytes_[0] = tag; }
  Record& number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
    return byte(static_cast<uint8_t>(value));
  }
  Record& text(const char* text, size_t size) {
    const size_t room = sizeof bytes_ - size_;
    if (size > room) size = room;
    memcpy(bytes_ + size_, text, size);
    size_ += size;
    return *this;
  }
  Record& byte(uint8_t value) {
    if (size_ < sizeof bytes_) bytes_[size_++] = value;
    return *this;
  }
  void append();  // under the lock

 private:
  static constexpr size_t kHead = 3;  // tag, and the length in two bytes
  uint8_t bytes_[kMaxCommand + 64];
  size_t size_ = kHead;
};

void seal(bool last) {
  if (meta.chunk == nullptr) return;
  seal_chunk(meta.chunk, {.size = meta.chunk->stored_size,
                          .last_stamp = meta.chunk->base_stamp,
                          .events = 0,
                          .last = last});
  meta.chunk = nullptr;
}

void Record::append() {
  const size_t length = size_ - kHead;
  bytes_[1] = static_cast<uint8_t>((length & 0x7f) | 0x80);
  bytes_[2] = static_cast<uint8_t>(length >> 7);
  if (meta.chunk != nullptr && kChunk - sizeof(dht_chunk_header) - meta.chunk->stored_size < size_)
    seal(false);
  if (meta.chunk == nullptr)
    meta.chunk = map_chunk(
        {.domain = DHT_DOMAIN_META, .tid = 0, .sequence = meta.sequence++, .base_stamp = 0},
        kChunk);
  if (meta.chunk == nullptr) return;  // recording has stopped, and reported so
  memcpy(payload_of(meta.chunk) + meta.chunk->stored_size, bytes_, size_);
  __atomic_store_n(&meta.chunk->stored_size, meta.chunk->stored_size + size_, __ATOMIC_RELEASE);
}

// The arguments separated by spaces; /proc separates them by zeroes.
size_t read_command(char* out, size_t capacity) {
  const int fd = open_file("/proc/self/cmdline", O_RDONLY);
  if (fd < 0) return 0;
  const long got = read_file(fd, out, capacity);
  close_file(fd);
  size_t size = got > 0 ? static_cast<size_t>(got) : 0;
  while (size > 0 && out[size - 1] == '\0') --size;
  for (size_t i = 0; i < size; ++i)
    if (out[i] == '\0') out[i] = ' ';
  return size;
}

uint8_t digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

void append_module(const Module& module) {
  if (module.id >= kMaxModules || (meta.modules[module.id / 64] >> module.id % 64 & 1) != 0) return;
  Record record(DHT_META_MODULE);
  record.number(module.id).number(module.begin).number(module.end - module.begin);
  const size_t digits = strlen(module.build_id) & ~size_t{1};
  record.number(digits / 2);
  for (size_t i = 0; i < digits; i += 2)
    record.byte(
        static_cast<uint8_t>(digit(module.build_id[i]) << 4 | digit(module.build_id[i + 1])));
  record.text(module.path, strlen(module.path)).append();
  __atomic_fetch_or(&meta.modules[module.id / 64], uint64_t{1} << module.id % 64, __ATOMIC_RELEASE);
}

}  // namespace

void meta_start() {
  const Locked locked(meta.lock);
  const ProcessIdentity& process = identity();
  char command[kMaxCommand];
  Record record(DHT_META_PROCESS);
  record.number(process.parent_pid).number(process.parent_generation);
  record.text(command, read_command(command, sizeof command)).append();
  for (size_t i = 0; const Module* const module = module_at(i); ++i)
    if (!module->unloaded) append_module(*module);
}

void meta_module(const Module& module) {
  if (module.id >= kMaxModules) return;
  if ((__atomic_load_n(&meta.modules[module.id / 64], __ATOMIC_ACQUIRE) >> module.id % 64 & 1) != 0)
    return;
  const Locked locked(meta.lock);
  append_module(module);
}

void meta_thread(uint32_t number, const char* name) {
  const Locked locked(meta.lock);
  Record(DHT_META_THREAD).number(number).text(name, strlen(name)).append();
}

void meta_lost(Lost what, uint64_t events) {
  const Locked locked(meta.lock);
  Record(DHT_META_LOST).number(static_cast<uint32_t>(what)).number(events).append();
}

void meta_end(uint64_t streams) {
  const Locked locked(meta.lock);
  Record(DHT_META_END).number(streams).number(last_stamp()).append();
  seal(true);
}

void meta_before_fork() { meta.lock.lock(); }
void meta_after_fork_parent() { meta.lock.unlock(); }
void meta_after_fork_child() {
  if (meta.chunk != nullptr) unmap_chunk(meta.chunk);
  meta.chunk = nullptr;
  meta.sequence = 0;
  memset(meta.modules, 0, sizeof meta.modules);
  meta.lock.reset();
}

}  // namespace deadheat::runtime
