#include "runtime/common/intercept/descriptors.h"

#include <errno.h>
#include <sys/stat.h>

#include "runtime/common/intercept/file_locks.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr int kMaxDescriptors = 1 << 16;  // higher numbers are ignored: no edges, no accesses
constexpr size_t kShared = 1 << 16;  // objects of pipes and of pairs; beyond, several share one:
                                     // too many edges, never too few
constexpr Address kUnknown = 0, kNone = 1;

Address entries[kMaxDescriptors];  // kUnknown, kNone or the object
// Never accessed: their addresses name the objects.
uint64_t all_sockets, single[kMaxDescriptors], pipes[kShared], socket_pairs[kShared];
uint64_t files[kShared];

size_t inode_index(const struct stat& status) {
  return (status.st_ino * 31 + status.st_dev) % kShared;
}

uint32_t pairs;

Address classify(int fd) {
  struct stat status;
  if (system_call(SYS_fstat, fd, reinterpret_cast<long>(&status)) < 0) return kNone;
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO:
      return address_of(&pipes[inode_index(status)]);
    case S_IFREG:
      return address_of(&files[inode_index(status)]);
    case S_IFSOCK:
      return sockets_object();
    case 0:  // an anonymous inode: eventfd, epoll, timerfd, signalfd
      return address_of(&single[fd]);
    default:
      return kNone;
  }
}

uint64_t not_followed;

bool known(int fd) { return fd >= 0 && fd < kMaxDescriptors; }

}  // namespace

Address sockets_object() { return address_of(&all_sockets); }

bool is_file_object(Address object) { return object - address_of(files) < sizeof files; }

// First to the object, then the look for relatives: who makes them receives from the object next,
// so that one of the two has what we publish here (passes_on).
void object_publishes(Thread* thread, Address pc, Address object) {
  on_happens_before(thread, pc, object);
  if (has_relatives() && object != sockets_object())
    on_happens_before(thread, pc, sockets_object());
}

void object_received(Thread* thread, Address pc, Address object) {
  on_happens_after(thread, pc, object);
  if (has_relatives() && object != sockets_object()) on_happens_after(thread, pc, sockets_object());
}

uint64_t descriptors_not_followed() { return __atomic_load_n(&not_followed, __ATOMIC_RELAXED); }

Address descriptor_object(int fd) {
  if (!known(fd)) {
    if (fd >= 0) __atomic_fetch_add(&not_followed, 1, __ATOMIC_RELAXED);
    return 0;
  }
  Address entry = __atomic_load_n(&entries[fd], __ATOMIC_RELAXED);
  if (entry == kUnknown) {
    entry = classify(fd);
    __atomic_store_n(&entries[fd], entry, __ATOMIC_RELAXED);
  }
  return entry == kNone ? 0 : entry;
}

void descriptor_used(Thread* thread, Address pc, int fd) {
  if (known(fd)) was_read(thread, pc, &entries[fd], sizeof entries[fd]);
}

void publishes_by(Thread* thread, Address pc, int fd) {
  descriptor_used(thread, pc, fd);
  const Address object = descriptor_object(fd);
  if (object != 0) object_publishes(thread, pc, object);
}

void received_by(Thread* thread, Address pc, int fd) {
  const Address object = descriptor_object(fd);
  if (object != 0) object_received(thread, pc, object);
}

void Sending::begins(int fd) {
  descriptor_used(thread_, pc_, fd);
  object_ = descriptor_object(fd);
  if (object_ == 0) return;
  const bool relatives = has_relatives() || object_ == sockets_object();
  if (relatives && object_ != sockets_object()) on_happens_before(thread_, pc_, sockets_object());
  if (is_file_object(object_) && watched_files_object() != 0)
    on_happens_before(thread_, pc_, watched_files_object());
  on_send_begin(thread_, pc_, object_);
  // As in object_publishes. The reads of this one call are then not checked.
  if (!relatives && has_relatives()) on_happens_before(thread_, pc_, sockets_object());
}

void Sending::is_offered(const void* begin, size_t size) const {
  if (scheduled(thread_) && size != 0)
    mode_before_range(thread_, pc_, address_of(begin), size, false);
}

void Sending::ends() {
  const int saved = errno;
  on_send_end(thread_, pc_);
  errno = saved;
}

void Sending::was_taken(const void* begin, size_t size) {
  if (thread_ == nullptr || size == 0 || !is_instrumented(pc_)) return;
  if (object_ != 0)
    on_send_read(thread_, pc_, address_of(begin), size);
  else
    on_range(thread_, pc_, address_of(begin), size, false);
}

void Sending::were_taken(size_t left, const iovec* parts, size_t count) {
  for (size_t i = 0; i < count && left > 0; ++i) {
    const size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
    was_taken(parts[i].iov_base, size);
    left -= size;
  }
}

namespace {

void file_closes(Thread* thread, Address pc, Address object) {
  const Address locks = locks_of_file(object), watches = watched_files_object();
  if (locks != 0) on_happens_before(thread, pc, locks);
  if (watches != 0) on_happens_before(thread, pc, watches);
}

void ends(Thread* thread, Address pc, int fd, bool close) {
  if (!known(fd)) return;
  if (thread != nullptr) {
    // The reader of the other end sees the end of the stream. Of a file only those who watch it or
    // wait for a lock on it see that it is closed.
    const Address object = descriptor_object(fd);
    if (is_file_object(object))
      file_closes(thread, pc, object);
    else if (object != 0)
      object_publishes(thread, pc, object);
    accessed(thread, pc, &entries[fd], sizeof entries[fd], close);
    if (close && is_instrumented(pc))
      on_memory_reset(thread, address_of(&entries[fd]), sizeof entries[fd]);
  }
  descriptor_forgotten(fd);
}

}  // namespace

void descriptor_replaced(Thread* thread, Address pc, int fd) { ends(thread, pc, fd, false); }
void descriptor_closes(Thread* thread, Address pc, int fd) { ends(thread, pc, fd, true); }

void descriptors_paired(int a, int b) {
  if (!known(a) || !known(b)) return;
  const uint32_t pair = __atomic_fetch_add(&pairs, 1, __ATOMIC_RELAXED);
  const Address object = address_of(&socket_pairs[pair % kShared]);
  __atomic_store_n(&entries[a], object, __ATOMIC_RELAXED);
  __atomic_store_n(&entries[b], object, __ATOMIC_RELAXED);
}

void descriptor_copied(int from, int to) {
  if (!known(to)) return;
  const Address object = descriptor_object(from);
  __atomic_store_n(&entries[to], object == 0 ? kNone : object, __ATOMIC_RELAXED);
}

void descriptor_stands_for(int fd, Address object) {
  if (known(fd)) __atomic_store_n(&entries[fd], object, __ATOMIC_RELAXED);
}

void descriptor_forgotten(int fd) {
  if (known(fd)) __atomic_store_n(&entries[fd], kUnknown, __ATOMIC_RELAXED);
}

}  // namespace deadheat::runtime
