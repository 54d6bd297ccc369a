#include "runtime/detect/shadow.h"

#include "runtime/common/bytes.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

char* shadow_segments[kSegments];
char* no_shadow;
uint32_t forgotten_for_all;

namespace {

constexpr size_t kSegmentShadow = (size_t{1} << kSegmentShift) * kShadowScale;
constexpr size_t kPage = 4096;
// A check of several cells that begins in the last one looks past the end: nothing is ever there.
constexpr size_t kMapped = kSegmentShadow + kPage;
static_assert(DEADHEAT_CHECK_MOST_BYTES * kShadowScale <= kPage);
// Below this much shadow, writing zeros is cheaper than releasing pages and faulting them in.
constexpr size_t kDropFrom = 16 * kPage;

uint64_t limit_clears;

void clear_bytes(uintptr_t begin, uintptr_t end) {
  if (end - begin < kDropFrom) {
    zero_cells(reinterpret_cast<void*>(begin), end - begin);
    return;
  }
  const uintptr_t first = (begin + kPage - 1) & ~(kPage - 1);
  const uintptr_t last = end & ~(kPage - 1);
  zero_words(reinterpret_cast<void*>(begin), first - begin);
  drop_pages(first, last - first);
  zero_words(reinterpret_cast<void*>(last), end - last);
}

}  // namespace

bool start_shadow() {
  no_shadow = static_cast<char*>(map_memory(kMapped));
  if (no_shadow == nullptr) return false;
  for (char*& segment : shadow_segments) segment = no_shadow;
  return true;
}

char* add_shadow(Address address) {
  if (address >> 47 != 0) return nullptr;
  char* const fresh = static_cast<char*>(map_memory(kMapped));
  if (fresh == nullptr) return nullptr;
  char* expected = no_shadow;
  if (__atomic_compare_exchange_n(&shadow_segments[segment_of(address)], &expected, fresh, false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  unmap_memory(fresh, kMapped);
  return expected;
}

void clear_shadow() {
  __atomic_fetch_add(&forgotten_for_all, 1, __ATOMIC_RELAXED);
  for (char* const segment : shadow_segments)
    if (segment != no_shadow) drop_pages(reinterpret_cast<uintptr_t>(segment), kSegmentShadow);
}

void clear_shadow(Address begin, size_t size) {
  if (size == 0) return;
  Address at = begin & ~Address{7};
  const Address end = (begin + size + 7) & ~Address{7};
  while (at < end) {
    const Address segment_end = ((at >> kSegmentShift) + 1) << kSegmentShift;
    const Address stop = end < segment_end ? end : segment_end;
    if (char* const segment = find_shadow(at); segment != nullptr) {
      const auto first = reinterpret_cast<uintptr_t>(cell_in(segment, at));
      clear_bytes(first, first + (stop - at) * kShadowScale);
    }
    at = stop;
  }
}

void keep_memory_limit() {
  const int64_t limit = runtime_options().memory_limit_mb;
  if (limit <= 0) return;
  if (resident_bytes() >> 20 < static_cast<size_t>(limit)) return;
  clear_shadow();
  __atomic_fetch_add(&limit_clears, 1, __ATOMIC_RELAXED);
}

uint64_t memory_limit_clears() { return limit_clears; }

}  // namespace deadheat::runtime
