#include "runtime/detect/strands.h"

#include <link.h>
#include <string.h>

#include "runtime/common/modules.h"
#include "runtime/detect/check.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

namespace {

// 8192 strands take a quarter of the epoch ids. A race of two tasks of one construct shows in its
// first ones, or depends on data.
constexpr uint32_t kMaxStrands = 8192;
constexpr uint16_t kMaxOfConstruct = 256;

// The past of former strands: for as long as the thread has its history.
struct Stint {
  uint32_t slot, first_tick, last_tick, carrier;
  StrandName name;
};

Lock stints_lock;
Stint* stints;
uint32_t stint_count;
uint32_t strands;
uint16_t of_construct[1024];
uint64_t in_thread_order;

bool may_begin(Address construct) {
  if (__atomic_load_n(&strands, __ATOMIC_RELAXED) >= kMaxStrands) return false;
  uint16_t& count = of_construct[(construct * 0x9e3779b97f4a7c15ULL) >> 54];
  if (__atomic_load_n(&count, __ATOMIC_RELAXED) >= kMaxOfConstruct) return false;
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  return __atomic_fetch_add(&strands, 1, __ATOMIC_RELAXED) < kMaxStrands;
}

void keep_stint(const Thread& self, const Strand& name) {
  const Locked locked(stints_lock);
  if (stints == nullptr) stints = static_cast<Stint*>(map_memory(2 * kMaxStrands * sizeof(Stint)));
  if (stints == nullptr || stint_count == 2 * kMaxStrands) return;
  stints[stint_count++] = {self.slot,
                           self.first_tick,
                           self.tick,
                           self.common.number,
                           {name.number, name.parent, name.creation, true}};
}

// Thread-local memory of the modules present at the start is contiguous below the thread pointer;
// that of modules loaded later can be anywhere.
struct TlsSearch {
  Carrier& carrier;
  Address pointer;
};

int add_tls(dl_phdr_info* info, size_t, void* data) {
  const auto& search = *static_cast<TlsSearch*>(data);
  Carrier& carrier = search.carrier;
  const auto begin = reinterpret_cast<Address>(info->dlpi_tls_data);
  if (begin == 0) return 0;
  constexpr Address kLargest = Address{16} << 20;
  if (begin > search.pointer || search.pointer - begin > kLargest) {
    carrier.tls_elsewhere = true;
  } else if (begin < carrier.tls_begin) {
    carrier.tls_begin = begin;
  }
  return 0;
}

uint32_t loaded_modules() {
  uint32_t count = 0;
  while (module_at(count) != nullptr) ++count;
  return count;
}

void find_tls(Carrier& carrier) {
  const uint32_t modules = loaded_modules();
  if (carrier.tls_modules == modules) return;
  carrier.tls_modules = modules;
  const auto pointer = reinterpret_cast<Address>(__builtin_thread_pointer());
  carrier.tls_begin = pointer;
  carrier.tls_end = pointer + 64;  // the compilers' guard word and similar
  TlsSearch search = {carrier, pointer};
  dl_iterate_phdr(add_tls, &search);
}

Carrier* carrier_of(Thread& self) {
  if (self.carrier == nullptr) {
    auto* const fresh = arena_new<Carrier>();
    if (fresh == nullptr) return nullptr;
    fresh->current.number = self.common.number;
    __atomic_store_n(&self.carrier, fresh, __ATOMIC_RELEASE);
  }
  find_tls(*self.carrier);
  return self.carrier->tls_elsewhere ? nullptr : self.carrier;
}

// The strand's knowledge of the stack below `base` is over. With too many places, the deepest is
// merged with the next one, which may hide a race there.
void add_dead(Carrier& carrier, Address base, const Clock& known) {
  DeadStack* place = nullptr;
  for (DeadStack& dead : carrier.dead) {
    if (dead.base == base || (dead.base == 0 && place == nullptr)) place = &dead;
    if (dead.base == base) break;
  }
  if (place == nullptr) {
    place = &carrier.dead[0];
    for (DeadStack& dead : carrier.dead)
      if (dead.base < place->base) place = &dead;
  }
  if (place->base < base) place->base = base;
  learn(place->known, known);
}

// Exchanges slot, ticks and clocks.
void exchange(Thread& self, Strand& strand) {
  const uint32_t slot = self.slot, tick = self.tick, first_tick = self.first_tick;
  self.slot = strand.slot;
  self.first_tick = strand.first_tick;
  __atomic_store_n(&self.tick, strand.tick, __ATOMIC_RELEASE);
  strand.slot = slot;
  strand.tick = tick;
  strand.first_tick = first_tick;
  self.clock.swap(strand.clock);
  self.release_fence.swap(strand.release_fence);
  self.acquire_pending.swap(strand.acquire_pending);
}

void exchange_names(Strand& a, Strand& b) {
  const StrandName name = {a.number, a.parent, a.creation, a.is_task};
  const bool bound = a.bound;
  const Address base = a.base;
  a.number = b.number, a.parent = b.parent, a.creation = b.creation, a.is_task = b.is_task;
  a.bound = b.bound, a.base = b.base;
  b.number = name.number, b.parent = name.parent, b.creation = name.creation;
  b.is_task = name.is_task, b.bound = bound, b.base = base;
}

// From now on the thread is the strand just exchanged in. Its ticks continue the thread's, so the
// ids of its batch are not the next ones.
void go_on(Thread& self, uint32_t thread_tick) {
  if (self.tick < thread_tick) self.tick = thread_tick;
  self.epochs = {};
  for (unsigned i = 0; i < kCellSlots; ++i) {
    self.lanes.first_unknown[i] = OrderLanes::kNothing;
    self.lanes.ordered_below[i] = OrderLanes::kNothing;
  }
  self.until_order = kLearnOrderEvery;
  const Carrier& carrier = *self.carrier;
  const bool watch = !carrier.current.bound;
  self.watched_begin = watch ? carrier.tls_begin : 0;
  self.watched_size = watch ? carrier.tls_end - carrier.tls_begin : 0;
  advance(self);
}

Strand* begin_strand(const TaskHandle& task, Address begun) {
  auto* const strand = arena_new<Strand>();
  if (strand == nullptr) return nullptr;
  {
    SyncShard& shard = shard_of(begun);
    const Locked locked(shard.lock);
    if (const SyncObject* const object = find_object(shard, begun, SyncKind::kAnnotation))
      learn(strand->clock, object->clock);
  }
  if (!take_own_slot(strand->clock, &strand->slot, &strand->tick)) {
    strand->~Strand();
    arena_free(strand, sizeof *strand);
    return nullptr;
  }
  strand->is_task = true;
  strand->bound = false;
  strand->number = next_thread_number();
  strand->parent = task.creator;
  strand->creation = task.creation;
  strand->clock.set(strand->slot, strand->tick);
  return strand;
}

void enter(Thread& self, Carrier& carrier, Strand* strand, Address base) {
  look_again(self);
  const uint32_t tick = self.tick;
  if (carrier.current.bound) learn(carrier.bound, self.clock);
  {
    const Locked locked(carrier.lock);
    add_dead(carrier, base, self.clock);
    exchange(self, *strand);
    exchange_names(carrier.current, *strand);
    carrier.current.base = base;
    strand->outer = carrier.outer;
    carrier.outer = strand;
  }
  go_on(self, tick);
  self.first_tick = self.tick;
}

// Returns the previous strand.
Strand* leave(Thread& self, Carrier& carrier) {
  look_again(self);
  Strand* const strand = carrier.outer;
  const bool was_bound = carrier.current.bound;
  if (was_bound) learn(carrier.bound, self.clock);
  keep_stint(self, carrier.current);
  const uint32_t tick = self.tick;
  {
    const Locked locked(carrier.lock);
    add_dead(carrier, carrier.current.base, self.clock);
    carrier.outer = strand->outer;
    exchange(self, *strand);
    exchange_names(carrier.current, *strand);
  }
  if (was_bound && carrier.current.bound) learn(self.clock, carrier.bound);
  go_on(self, tick);
  return strand;
}

}  // namespace

bool mode_task_create(Thread* self, TaskHandle* task, Address pc) {
  if (!may_begin(pc)) {
    __atomic_fetch_add(&in_thread_order, 1, __ATOMIC_RELAXED);
    return false;
  }
  task->creator = current_strand(*self).number;
  const Busy busy(*self);
  end_alone(*self);
  task->creation = current_stack(*self, pc);
  return true;
}

bool mode_task_enter(Thread* self, TaskHandle* task, Address begun, Address base) {
  const Busy busy(*self);
  end_alone(*self);
  Carrier* const carrier = carrier_of(*self);
  auto* strand = static_cast<Strand*>(task->strand);
  if (carrier != nullptr && strand == nullptr) strand = begin_strand(*task, begun);
  if (carrier == nullptr || strand == nullptr) {
    __atomic_fetch_add(&in_thread_order, 1, __ATOMIC_RELAXED);
    return false;
  }
  task->strand = nullptr;
  enter(*self, *carrier, strand, base);
  return true;
}

void mode_task_leave(Thread* self, TaskHandle* task, bool over) {
  const Busy busy(*self);
  Strand* const strand = leave(*self, *self->carrier);
  if (!over) {
    strand->bound = false;  // it may continue on another thread
    task->strand = strand;
    return;
  }
  give_slot(strand->slot, strand->tick);
  strand->~Strand();
  arena_free(strand, sizeof *strand);
}

void mode_thread_identity(Thread* self) {
  if (self->carrier == nullptr || self->carrier->current.bound) return;
  const Busy busy(*self);
  bind_strand(*self);
}

void bind_strand(Thread& self) {
  self.watched_size = 0;
  if (self.carrier == nullptr || self.carrier->current.bound) return;
  self.carrier->current.bound = true;
  learn(self.clock, self.carrier->bound);
}

bool is_dead(Address address, const EpochEntry& earlier) {
  bool dead = false;
  for_each_thread([&](const Thread& thread) {
    Carrier* const carrier = __atomic_load_n(&thread.carrier, __ATOMIC_ACQUIRE);
    if (carrier == nullptr || address < thread.stack_begin || address >= thread.stack_end) return;
    const Locked locked(carrier->lock);
    for (const DeadStack& one : carrier->dead)
      dead |= one.base > address && one.known.get(earlier.slot) >= earlier.tick;
  });
  return dead;
}

StrandName current_strand(const Thread& thread) {
  const Carrier* const carrier = thread.carrier;
  if (carrier == nullptr || !carrier->current.is_task) return {thread.common.number, 0, 0, false};
  const Strand& strand = carrier->current;
  return {strand.number, strand.parent, strand.creation, true};
}

bool find_strand(const EpochEntry& epoch, uint32_t* carrier, StrandName* name) {
  bool found = false;
  for_each_thread([&](const Thread& thread) {
    for_each_outer(thread, [&](const Strand& strand) {
      if (strand.slot != epoch.slot || epoch.tick < strand.first_tick || epoch.tick > strand.tick)
        return;
      *carrier = thread.common.number;
      *name = {strand.number, strand.parent, strand.creation, strand.is_task};
      found = true;
    });
  });
  const Locked locked(stints_lock);
  for (uint32_t i = stint_count; i-- > 0 && !found;) {
    const Stint& stint = stints[i];
    if (stint.slot != epoch.slot || epoch.tick < stint.first_tick || epoch.tick > stint.last_tick)
      continue;
    *carrier = stint.carrier;
    *name = stint.name;
    found = true;
  }
  return found;
}

void free_carrier(Thread& thread) {
  if (thread.carrier == nullptr) return;
  thread.carrier->~Carrier();
  arena_free(thread.carrier, sizeof(Carrier));
  thread.carrier = nullptr;
}

void strands_after_fork(Thread& self) {
  stints_lock.reset();
  if (self.carrier != nullptr) self.carrier->lock.reset();
}

uint64_t tasks_in_thread_order() { return in_thread_order; }

}  // namespace deadheat::runtime
