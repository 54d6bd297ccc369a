#include "runtime/record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "abi/crc32c.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"
#include "runtime/record/board.h"

namespace deadheat::runtime {

uint32_t recording_state;
static uint64_t unused_counter;
uint64_t* stamp_counter = &unused_counter;

namespace {

constexpr int kLowestDescriptor = 400;  // high, to avoid programs that close or dup2 small ones

Board* board;
ProcessIdentity process;
Lock descriptor_lock;
int descriptor = -1;
struct stat file_status;
char absolute_path[2048];

bool is_error(long result) { return result < 0 && result > -4096; }

void make_absolute(const char* path) {
  Text text(absolute_path, sizeof absolute_path);
  if (path[0] != '/') {
    char folder[1024];
    const long size = system_call(SYS_getcwd, reinterpret_cast<long>(folder), sizeof folder);
    if (!is_error(size)) text << folder << '/';
  }
  text << path;
  text.c_str();
}

bool same_file(int fd) {
  struct stat status;
  return !is_error(system_call(SYS_fstat, fd, reinterpret_cast<long>(&status))) &&
         status.st_dev == file_status.st_dev && status.st_ino == file_status.st_ino;
}

int move_up(int fd) {
  const long moved = system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (is_error(moved)) return fd;
  close_file(fd);
  return static_cast<int>(moved);
}

// Programs close descriptors that they did not open, and then open their own under that number:
// ours is verified before each use.
int usable_descriptor() {
  const Locked locked(descriptor_lock);
  if (descriptor >= 0 && same_file(descriptor)) return descriptor;
  descriptor = open_file(absolute_path, O_RDWR);
  if (descriptor < 0) return descriptor;
  if (!same_file(descriptor)) {
    close_file(descriptor);
    descriptor = -1;
    return -ENOENT;
  }
  return descriptor = move_up(descriptor);
}

// Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ, which would end the program.
bool exceeds_limits(uint64_t end, long* error) {
  const int64_t limit_mb = runtime_options().trace_limit_mb;
  rlimit limit{};
  system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(&limit));
  *error = 0;
  if (limit_mb > 0 && end > static_cast<uint64_t>(limit_mb) << 20) return true;
  *error = -EFBIG;
  return limit.rlim_cur != 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

// Allocates blocks for a piece of the file, by writing zeroes if the file system cannot allocate.
long allocate_blocks(int fd, uint64_t offset, size_t size) {
  long result;
  do {
    result = system_call(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(size));
  } while (result == -EINTR);
  if (result != -EOPNOTSUPP && result != -ENOSYS) return result;
  static const char zeroes[4096] = {};
  for (size_t done = 0; done < size;) {
    const size_t left = size - done < sizeof zeroes ? size - done : sizeof zeroes;
    const long put = system_call(SYS_pwrite64, fd, reinterpret_cast<long>(zeroes),
                                 static_cast<long>(left), static_cast<long>(offset + done));
    if (put == -EINTR) continue;
    if (put <= 0) return put == 0 ? -ENOSPC : put;
    done += static_cast<size_t>(put);
  }
  return 0;
}

void* map_piece(int fd, uint64_t offset, size_t size) {
  const long mapped = system_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_POPULATE, fd, static_cast<long>(offset));
  return is_error(mapped) ? nullptr : reinterpret_cast<void*>(mapped);
}

// Under the file's lock: an empty file becomes a trace; any other must be ours.
long prepare_board(int fd) {
  system_call(SYS_fstat, fd, reinterpret_cast<long>(&file_status));
  const bool fresh = file_status.st_size == 0;
  if (!S_ISREG(file_status.st_mode)) return -EINVAL;
  long error = 0;
  if (fresh && exceeds_limits(sizeof(Board), &error)) return error;
  if (fresh) error = allocate_blocks(fd, 0, sizeof(Board));
  if (is_error(error)) return error;
  if (!fresh && file_status.st_size < static_cast<off_t>(sizeof(Board))) return -EINVAL;
  board = static_cast<Board*>(map_piece(fd, 0, sizeof(Board)));
  if (board == nullptr) return -ENOMEM;
  if (fresh) init_board(*board);
  if (is_board(*board)) return 0;
  unmap_memory(board, sizeof(Board));
  board = nullptr;
  return -EINVAL;
}

void say_no_trace(const char* path, long error) {
  TextBuffer<2048> line;
  line << "cannot record to " << path << ": ";
  if (error == -EINVAL) {
    line << "it holds something that is no recording of this version; remove it or name another";
  } else {
    line << strerrordesc_np(static_cast<int>(-error)) << "; the program runs without recording";
  }
  say(line.c_str());
}

}  // namespace

void open_trace() {
  const char* const path = runtime_options().trace_path;
  if (path[0] == '\0') {
    say("no trace_path in DEADHEAT_OPTIONS: nothing is recorded; start it with deadheat record");
    return;
  }
  make_absolute(path);
  const int fd = open_file(absolute_path, O_RDWR | O_CREAT, 0666);
  if (fd < 0) {
    say_no_trace(path, fd);
    return;
  }
  while (system_call(SYS_flock, fd, LOCK_EX) == -EINTR) {
  }
  const long prepared = prepare_board(fd);
  system_call(SYS_flock, fd, LOCK_UN);
  if (is_error(prepared)) {
    close_file(fd);
    say_no_trace(path, prepared);
    return;
  }
  descriptor = move_up(fd);
  stamp_counter = &board->chunk.last_stamp;
  __atomic_store_n(&recording_state, 1, __ATOMIC_RELEASE);
}

void identify_process() {
  const ProcessIdentity former = process;
  process.pid = process_id();
  if (board == nullptr) return;
  process.generation = claim_generation(*board, process.pid);
  if (former.pid != 0) {  // forked
    process.parent_pid = former.pid;
    process.parent_generation = former.generation;
  } else if (process.generation > 0 && process.generation >> 31 == 0) {  // after exec
    process.parent_pid = process.pid;
    process.parent_generation = process.generation - 1;
  } else {
    const auto parent = static_cast<uint32_t>(system_call(SYS_getppid));
    uint32_t generation = 0;
    if (find_generation(*board, parent, &generation)) {
      process.parent_pid = parent;
      process.parent_generation = generation;
    }
  }
}

const ProcessIdentity& identity() { return process; }
bool has_trace() { return board != nullptr; }

void stop_recording(const char* why, long error) {
  if (__atomic_exchange_n(&recording_state, 0, __ATOMIC_ACQ_REL) == 0) return;
  TextBuffer<2048> line;
  line << "recording stopped (" << why;
  if (error != 0) line << ": " << strerrordesc_np(static_cast<int>(-error));
  line << "); the program continues, the trace keeps what was recorded";
  say(line.c_str());
}

dht_chunk_header* map_chunk(const ChunkPlace& place, size_t size) {
  if (!is_recording()) return nullptr;
  const uint64_t offset = __atomic_fetch_add(&board->end, size, __ATOMIC_RELAXED);
  long error = 0;
  if (exceeds_limits(offset + size, &error)) {
    stop_recording(error == 0 ? "trace_limit_mb reached" : "cannot grow the trace", error);
    return nullptr;
  }
  const int fd = usable_descriptor();
  if (fd < 0) {
    stop_recording("the trace cannot be opened again", fd);
    return nullptr;
  }
  error = allocate_blocks(fd, offset, size);
  if (is_error(error)) {
    stop_recording("cannot grow the trace", error);
    return nullptr;
  }
  auto* const header = static_cast<dht_chunk_header*>(map_piece(fd, offset, size));
  if (header == nullptr) {
    stop_recording("cannot map the trace", -ENOMEM);
    return nullptr;
  }
  header->header_size = sizeof *header;
  header->domain = place.domain;
  header->capacity = size;
  header->pid = process.pid;
  header->generation = process.generation;
  header->tid = place.tid;
  header->sequence = place.sequence;
  header->base_stamp = header->last_stamp = place.base_stamp;
  header->magic = DHT_CHUNK_MAGIC;
  header->identity_crc = dht_crc32c(header, DHT_IDENTITY_SIZE);
  header->raw_size = header->stored_size =
      place.domain == DHT_DOMAIN_THREAD ? size - sizeof *header : 0;
  __atomic_store_n(&header->state, DHT_STATE_OPEN, __ATOMIC_RELEASE);
  return header;
}

void seal_chunk(dht_chunk_header* header, const ChunkEnd& end) {
  dht_chunk_header sealed = *header;
  sealed.state = DHT_STATE_SEALED;
  sealed.commit_flags = end.last ? DHT_COMMIT_LAST : 0;
  sealed.stored_size = sealed.raw_size = end.size;
  sealed.last_stamp = end.last_stamp;
  sealed.events = end.events;
  sealed.payload_crc = dht_crc32c(payload_of(header), end.size);
  sealed.commit_crc = 0;
  sealed.commit_crc = dht_crc32c(&sealed.state, sizeof sealed - DHT_IDENTITY_SIZE);
  // While it says OPEN, a reader uses no other field than the size, which may only shrink to the
  // actual data.
  header->commit_flags = sealed.commit_flags;
  header->raw_size = sealed.raw_size;
  header->last_stamp = sealed.last_stamp;
  header->events = sealed.events;
  header->payload_crc = sealed.payload_crc;
  header->commit_crc = sealed.commit_crc;
  header->stored_size = sealed.stored_size;
  __atomic_store_n(&header->state, DHT_STATE_SEALED, __ATOMIC_RELEASE);
  unmap_chunk(header);
}

void unmap_chunk(dht_chunk_header* header) { unmap_memory(header, header->capacity); }

void file_before_fork() { descriptor_lock.lock(); }
void file_after_fork() { descriptor_lock.unlock(); }

}  // namespace deadheat::runtime
