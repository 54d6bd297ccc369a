// Ranges, allocation and release of memory.
#include "runtime/common/heap.h"
#include "runtime/detect/check.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

namespace {

// A freed block is a write to all its bytes. Of a large one only the start is checked and marked: a
// thread that still uses it mostly touches that, and marking the rest would cost more than the
// program's own work on it. Counted.
constexpr size_t kMarkedFree = 1024;
// From this size on, the shadow of freed memory is released: it may be the memory's last use.
constexpr size_t kDropFrom = 128 << 10;

uint64_t unmarked;

}  // namespace

uint64_t unmarked_frees() { return unmarked; }

void on_range(Thread* self, Address pc, Address begin, size_t size, bool write) {
  if (size == 0 || hot.storing == nullptr) return;
  const Slot flags = write ? kWriteBit : 0;
  if ((begin & 7) + size <= 8) {  // such as a lock's: rarely accessed twice in a tick
    const Busy busy(*self);
    return check_small(*self, begin, size, pc, flags);
  }
  if (size >= 16 && is_covered(*self, begin, size, write)) return;
  const Busy busy(*self);
  if (size == 16 && begin % 8 == 0)
    return write ? check_plain<16, true, false>(begin, pc)
                 : check_plain<16, false, false>(begin, pc);
  check_access(*self, {begin, size, pc, flags});
}

void on_alloc(Thread* self, Address pc, Address block, size_t size) {
  const Busy busy(*self);
  ++self->forgotten;
  clear_shadow(block, size);
  if (heap_owns(reinterpret_cast<void*>(block)))
    heap_header(reinterpret_cast<void*>(block))->stack = current_stack(*self, pc);
}

void on_fresh(Thread* self, Address pc, Address begin, size_t size) {
  if (size == 0 || hot.storing == nullptr) return;
  const Busy busy(*self);
  ++self->forgotten;
  if ((begin & 7) + size <= 8) return check_small(*self, begin, size, pc, kWriteBit | kAtomicBit);
  check_access(*self, {begin, size, pc, kWriteBit | kAtomicBit});
}

void on_free(Thread* self, Address pc, Address block, size_t size) {
  const Busy busy(*self);
  drop_objects(block, size);
  ++self->forgotten;
  if (size == 0 || hot.storing == nullptr) return;
  const size_t marked = size < kMarkedFree ? size : kMarkedFree;
  history_access(*self, pc, block, size, kHistoryWrite | kHistoryFree);
  check_bytes(*self, block, block + marked, {block, size, pc, kWriteBit, true});
  if (size == marked) return;
  __atomic_fetch_add(&unmarked, 1, __ATOMIC_RELAXED);
  if (size >= kDropFrom) clear_shadow(block + marked, size - marked);
}

bool mode_frees_at_once(const Thread* self) { return self->alone; }

void mode_forget_objects(Thread* self, Address begin, size_t size) {
  const Busy busy(*self);
  drop_objects(begin, size);
}

void on_memory_reset(Thread* self, Address begin, size_t size) {
  const Busy busy(*self);
  ++self->forgotten;
  clear_shadow(begin, size);
  drop_objects(begin, size);
}

}  // namespace deadheat::runtime
