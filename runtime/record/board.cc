#include "runtime/record/board.h"

#include <stddef.h>
#include <string.h>

#include "abi/crc32c.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kMark = 0x3164726f62746864;  // "dhtbord1"
constexpr size_t kSeen = sizeof(Board::seen) / sizeof(SeenProcess);
constexpr size_t kProbes = 64;
constexpr uint32_t kUnlisted = 1u << 31;

size_t home_of(uint32_t pid) { return pid * 0x9e3779b1u % kSeen; }

}  // namespace

void init_board(Board& board) {
  dht_file_header& file = board.file;
  memcpy(file.magic, DHT_MAGIC, sizeof file.magic);
  file.version = DHT_VERSION;
  file.header_size = sizeof file;
  file.flags = DHT_FILE_DENSE_STAMPS;
  file.first_stamp = 1;
  file.header_crc = dht_crc32c(&file, sizeof file);

  static const char kTool[] = "deadheat " DEADHEAT_VERSION " record";
  static_assert(sizeof kTool < sizeof board.records - 2);
  const size_t length = sizeof kTool - 1;
  board.records[0] = DHT_META_TOOL;
  board.records[1] = static_cast<uint8_t>(length);
  memcpy(board.records + 2, kTool, length);

  dht_chunk_header& chunk = board.chunk;
  chunk.magic = DHT_CHUNK_MAGIC;
  chunk.header_size = sizeof chunk;
  chunk.domain = DHT_DOMAIN_META;
  chunk.capacity = sizeof(Board) - sizeof file;
  chunk.identity_crc = dht_crc32c(&chunk, DHT_IDENTITY_SIZE);
  chunk.stored_size = chunk.raw_size = length + 2;
  chunk.state = DHT_STATE_OPEN;
  board.end = sizeof(Board);
  board.mark = kMark;
}

bool is_board(const Board& board) {
  return memcmp(board.file.magic, DHT_MAGIC, sizeof board.file.magic) == 0 &&
         board.file.version == DHT_VERSION && board.mark == kMark &&
         board.chunk.magic == DHT_CHUNK_MAGIC && board.chunk.state == DHT_STATE_OPEN &&
         board.chunk.capacity == sizeof(Board) - sizeof board.file;
}

uint32_t claim_generation(Board& board, uint32_t pid) {
  for (size_t i = 0; i < kProbes; ++i) {
    SeenProcess& seen = board.seen[(home_of(pid) + i) % kSeen];
    uint32_t found = __atomic_load_n(&seen.pid, __ATOMIC_ACQUIRE);
    if (found == 0)
      __atomic_compare_exchange_n(&seen.pid, &found, pid, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE);
    if (found == 0 || found == pid)
      return __atomic_fetch_add(&seen.incarnations, 1, __ATOMIC_ACQ_REL);
  }
  return kUnlisted | __atomic_fetch_add(&board.more_processes, 1, __ATOMIC_ACQ_REL);
}

bool find_generation(const Board& board, uint32_t pid, uint32_t* generation) {
  for (size_t i = 0; i < kProbes; ++i) {
    const SeenProcess& seen = board.seen[(home_of(pid) + i) % kSeen];
    const uint32_t found = __atomic_load_n(&seen.pid, __ATOMIC_ACQUIRE);
    if (found == 0) return false;
    const uint32_t incarnations = __atomic_load_n(&seen.incarnations, __ATOMIC_ACQUIRE);
    if (found == pid && incarnations > 0) {
      *generation = incarnations - 1;
      return true;
    }
  }
  return false;
}

}  // namespace deadheat::runtime
