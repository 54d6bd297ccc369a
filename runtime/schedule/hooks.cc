// The compilers' hooks: an access of the candidate, or, for strategies that switch everywhere, any.
#include "runtime/common/atomics.h"
#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

namespace {

struct Wanted {
  bool point, site;
};

Wanted is_point(const Thread* self, Address pc, bool always) {
  if (self == nullptr || self->common.inside != 0 || self->common.critical != 0 || alone(*self))
    return {false, false};
  const bool site = is_site(pc);
  return {site || always || every_access(), site};
}

// A read that is not a point but may be what a loop waits with: then others must run.
void note_read(Thread* self, Address address, Address pc) {
  if (self == nullptr || self->common.inside != 0 || self->common.critical != 0 || alone(*self))
    return;
  self->reads.step(pc, address);
  if (!self->reads.closed()) return;
  self->reads.open();
  self->points.close();
  mode_point(self, pc, Point::kYield, address);
}

void access(Address address, size_t size, bool write, Address pc) {
  Thread* const self = tls_self;
  const Wanted wanted = is_point(self, pc, false);
  if (!wanted.point && !write) note_read(self, address, pc);
  if (!wanted.point) return;
  const Next next = {
      .point = Point::kAccess, .pc = pc, .object = address, .size = size, .write = write};
  point_at(*self, next, wanted.site);
}

void atomic_access(const volatile void* address, size_t size, bool write, Address pc) {
  Thread* const self = tls_self;
  const Wanted wanted = is_point(self, pc, true);
  if (!wanted.point) return;
  const Next next = {.point = Point::kAtomic,
                     .pc = pc,
                     .object = reinterpret_cast<Address>(address),
                     .size = size,
                     .write = write,
                     .atomic = true};
  point_at(*self, next, wanted.site);
}

template <unsigned kSize, bool kWrite>
void hook_access(Address address, Address pc) {
  access(address, kSize, kWrite, pc);
}
template <unsigned kSize, bool kWrite>
void hook_unaligned(Address address, Address pc) {
  access(address, kSize, kWrite, pc);
}
void hook_range(Address address, size_t size, bool write, Address pc) {
  access(address, size, write, pc);
}
void hook_entry(Address) {}
void hook_exit() {}

template <typename T, typename Op>
T hook_atomic(AtomicKind kind, volatile T* place, MemoryOrder, Address pc, Op op) {
  atomic_access(place, sizeof(T), kind != AtomicKind::kLoad, pc);
  return op();
}

template <typename T>
bool hook_compare_exchange(volatile T* place, T* expected, T desired, MemoryOrder, MemoryOrder,
                           Address pc) {
  atomic_access(place, sizeof(T), true, pc);
  return real_compare_exchange(place, expected, desired);
}

}  // namespace

void mode_before_range(Thread* self, Address pc, Address begin, size_t size, bool write) {
  if (self == tls_self) access(begin, size, write, pc);
}

// Since its write the thread has done nothing that could order it before other threads' accesses: a
// thread that reaches its own access races with it, but cannot come first.
void mode_after_write(Thread* self, Address pc, Address begin, size_t size) {
  if (self != tls_self || !is_point(self, pc, false).site) return;
  const Next next = {.point = Point::kAccess,
                     .pc = pc,
                     .object = begin,
                     .size = size,
                     .write = true,
                     .done = true};
  point_at(*self, next, true);
}

void on_function_entry(Thread*, Address) {}
void on_function_exit(Thread*) {}

}  // namespace deadheat::runtime

#include "runtime/common/abi_accesses.inc"
#include "runtime/common/abi_atomics.inc"
