#include "runtime/common/intercept/file_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kObjects = 1 << 12;  // more files share one: too many edges, never too few
uint64_t objects[kObjects];           // never touched: their addresses are the names
bool used;

}  // namespace

Address locks_of_file(Address file) {
  if (file == 0 || !__atomic_load_n(&used, __ATOMIC_RELAXED)) return 0;
  return address_of(&objects[file / sizeof(uint64_t) % kObjects]);
}

bool is_lock_command(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

bool waits_for_lock(int command) { return command == F_SETLKW || command == F_OFD_SETLKW; }

// Also before a lock is taken: it may be changed from a write lock to a read lock.
void before_file_lock(Address pc, int fd) {
  __atomic_store_n(&used, true, __ATOMIC_RELAXED);
  const Address object = self() == nullptr ? 0 : locks_of_file(descriptor_object(fd));
  if (object != 0) object_publishes(self(), pc, object);
}

void after_file_lock(Address pc, int fd, int result) {
  const Address object = self() == nullptr ? 0 : locks_of_file(descriptor_object(fd));
  if (result == 0 && object != 0) object_received(self(), pc, object);
}

INTERCEPT(int, flock, (int fd, int operation)) {
  before_file_lock(CALLER, fd);
  const bool waits = (operation & (LOCK_NB | LOCK_UN)) == 0;
  const Outside outside(waits ? self() : nullptr, CALLER, "flock");
  const int result = REAL(flock)(fd, operation);
  after_file_lock(CALLER, fd, result);
  return result;
}

#define LOCKF(name, offset)                                                     \
  INTERCEPT(int, name, (int fd, int command, offset size)) {                    \
    before_file_lock(CALLER, fd);                                               \
    const Outside outside(command == F_LOCK ? self() : nullptr, CALLER, #name); \
    const int result = REAL(name)(fd, command, size);                           \
    after_file_lock(CALLER, fd, result);                                        \
    return result;                                                              \
  }
LOCKF(lockf, off_t)
LOCKF(lockf64, off64_t)
#undef LOCKF

}  // namespace deadheat::runtime
