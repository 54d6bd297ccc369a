// Mappings: newly mapped bytes have no history.
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/shared_memory.h"

namespace deadheat::runtime {

namespace {

size_t whole_pages(size_t size) {
  const auto page = static_cast<size_t>(getpagesize());
  return (size + page - 1) / page * page;
}

void forget(const void* begin, size_t size) {
  if (self() != nullptr && size != 0) on_memory_reset(self(), address_of(begin), whole_pages(size));
}

// As with malloc, the first bytes represent all: an unordered use races with the call.
void* mapped(void* result, size_t size, int flags, Address pc) {
  if (result == MAP_FAILED) return result;
  forget(result, size);
  if ((flags & MAP_SHARED) != 0) memory_is_shared(address_of(result), whole_pages(size));
  if (self() != nullptr && is_instrumented(pc)) on_fresh(self(), pc, address_of(result), 8);
  return result;
}

}  // namespace

INTERCEPT(void*, mmap, (void* hint, size_t size, int protection, int flags, int fd, off_t offset)) {
  return mapped(REAL(mmap)(hint, size, protection, flags, fd, offset), size, flags, CALLER);
}

INTERCEPT(void*, mmap64,
          (void* hint, size_t size, int protection, int flags, int fd, off64_t offset)) {
  return mapped(REAL(mmap64)(hint, size, protection, flags, fd, offset), size, flags, CALLER);
}

// Before the real call: afterwards another thread may own the addresses. If it fails (EINVAL), the
// bytes lose their history although they stay mapped.
INTERCEPT(int, munmap, (void* begin, size_t size)) {
  const bool aligned = address_of(begin) % static_cast<size_t>(getpagesize()) == 0;
  if (aligned) {
    forget(begin, size);
    memory_is_not_shared(address_of(begin), whole_pages(size));
  }
  return REAL(munmap)(begin, size);
}

INTERCEPT(void*, mremap, (void* old, size_t old_size, size_t size, int flags, void* target)) {
  void* const result = REAL(mremap)(old, old_size, size, flags, target);
  if (result == MAP_FAILED) return result;
  if (one_address_of(address_of(old)) != address_of(old))
    memory_is_shared(address_of(result), whole_pages(size));
  if (result != old) {
    forget(old, old_size);
    forget(result, size);
  } else if (size < old_size) {
    const size_t kept = whole_pages(size);
    forget(static_cast<char*>(old) + kept, whole_pages(old_size) - kept);
  } else if (size > old_size) {
    const size_t kept = whole_pages(old_size);
    forget(static_cast<char*>(old) + kept, whole_pages(size) - kept);
  }
  return result;
}

INTERCEPT(void*, shmat, (int id, const void* hint, int flags)) {
  void* const result = REAL(shmat)(id, hint, flags);
  const int saved = errno;
  shmid_ds segment;
  if (result != MAP_FAILED && shmctl(id, IPC_STAT, &segment) == 0) {
    forget(result, segment.shm_segsz);
    memory_is_shared(address_of(result), whole_pages(segment.shm_segsz));
  }
  errno = saved;
  return result;
}

// madvise(MADV_DONTNEED) writes zeros that the program orders itself; it is not modelled.

}  // namespace deadheat::runtime
