#include "runtime/common/shared_memory.h"

#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr Address kPage = 4096;
constexpr size_t kMost = 256;  // beyond, all memory counts as shared

struct Range {
  Address begin, end;
};

Range ranges[kMost];
size_t count;
bool too_many;
Lock lock;

}  // namespace

void memory_is_shared(Address begin, size_t size) {
  const Locked locked(lock);
  if (count == kMost) {
    __atomic_store_n(&too_many, true, __ATOMIC_RELAXED);
    return;
  }
  ranges[count] = {begin, begin + size};
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

void memory_is_not_shared(Address begin, size_t size) {
  if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0) return;
  const Locked locked(lock);
  for (size_t i = count; i-- > 0;)
    if (begin <= ranges[i].begin && ranges[i].end <= begin + size) {
      ranges[i] = ranges[count - 1];
      __atomic_store_n(&count, count - 1, __ATOMIC_RELEASE);
    }
}

Address one_address_of(Address object) {
  const Address in_page = object % kPage + 1;  // never 0, and no address of a program
  if (__atomic_load_n(&too_many, __ATOMIC_RELAXED)) return in_page;
  if (__atomic_load_n(&count, __ATOMIC_ACQUIRE) == 0) return object;
  const Locked locked(lock);
  for (size_t i = 0; i < count; ++i)
    if (ranges[i].begin <= object && object < ranges[i].end) return in_page;
  return object;
}

}  // namespace deadheat::runtime
