#include "runtime/validate/order.h"

#include "runtime/common/shared_memory.h"
#include "runtime/validate/budget.h"
#include "runtime/validate/jobs.h"

namespace deadheat::runtime {

uint32_t tracking;
Lock state_lock;

namespace {

constexpr size_t kObjects = 1 << 13;  // a power of two
constexpr size_t kMostObjects = kObjects / 4 * 3;
constexpr uint32_t kClockEvery = 64;
constexpr uint64_t kFewCycles = 50;  // of an operation that touches nothing shared, about

struct Object {
  Address key;  // written last, read first
  Reached reached;
  Reached relaxed;
};

Object objects[kObjects];
size_t object_count;
uint32_t epoch = 1;
// What uninstrumented code was told, for all who acquire; and what atomics tell to it alone.
Reached all_regions, told_by_atomics;

size_t slot_of(Address key) { return (key * 0x9e3779b97f4a7c15ULL) >> 51; }
static_assert(kObjects == size_t{1} << (64 - 51));

Object* find(Address key) {
  for (size_t i = slot_of(key), tries = 0; tries < kObjects; i = (i + 1) % kObjects, ++tries) {
    const Address found = __atomic_load_n(&objects[i].key, __ATOMIC_ACQUIRE);
    if (found == key) return &objects[i];
    if (found == 0) return nullptr;
  }
  return nullptr;
}

Object* insert(Address key) {
  if (Object* const found = find(key)) return found;
  if (object_count >= kMostObjects) {
    on_lost_edges();
    return nullptr;
  }
  size_t i = slot_of(key);
  while (objects[i].key != 0) i = (i + 1) % kObjects;
  ++object_count;
  objects[i].reached = objects[i].relaxed = {};
  __atomic_store_n(&objects[i].key, key, __ATOMIC_RELEASE);
  return &objects[i];
}

Reached load(const Reached& from) {
  Reached copy;
  copy.ordered = __atomic_load_n(&from.ordered, __ATOMIC_RELAXED);
  copy.maybe = __atomic_load_n(&from.maybe, __ATOMIC_RELAXED);
  return copy;
}

void add(Reached& to, const Reached& what) {
  __atomic_store_n(&to.ordered, to.ordered | what.ordered, __ATOMIC_RELAXED);
  __atomic_store_n(&to.maybe, to.maybe | what.maybe, __ATOMIC_RELAXED);
}

bool holds(const Reached& all, const Reached& part) {
  return (part.ordered & ~all.ordered) == 0 && (part.maybe & ~all.maybe) == 0;
}

uint64_t all_of(const Thread& self) { return self.reached.ordered | self.reached.maybe; }

// With the lock held.
void gain(Thread& self, const Reached& what) {
  const uint64_t fresh = what.ordered & ~self.reached.ordered;
  self.reached.ordered |= what.ordered;
  self.reached.maybe |= what.maybe;
  if (fresh != 0) on_ordered(self, fresh);
}

// Cheap, without the lock: most threads are in no region and have nothing to pass on.
bool has_business(Thread& self) {
  if (self.epoch != __atomic_load_n(&epoch, __ATOMIC_RELAXED)) self.reached = {};
  return self.reached.any() || self.region_count != 0;
}

void tick(Thread& self) {
  if (++self.tracked % kClockEvery != 0) return;
  charge_slow(kClockEvery * kFewCycles);
  look_at_clock(self);
}

// The global lock; the time to acquire and hold it is charged.
class Charged {
 public:
  Charged() : begun_(cycles()) { state_lock.lock(); }
  ~Charged() {
    state_lock.unlock();
    charge_slow(cycles() - begun_);
  }
  Charged(const Charged&) = delete;
  Charged& operator=(const Charged&) = delete;

 private:
  uint64_t begun_;
};

void release_to(Thread& self, Address object, bool atomic) {
  tick(self);
  if (!has_business(self)) return;
  const Charged locked;
  refresh(self);
  meet_regions(self);
  if (!self.reached.any()) return;
  if (atomic) add(told_by_atomics, {0, all_of(self)});
  if (Object* const to = insert(one_address_of(object))) add(to->reached, self.reached);
}

// `what`: from elsewhere.
void acquire_from(Thread& self, Address object, Reached what) {
  tick(self);
  const uint32_t seen = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
  const Object* const from = find(one_address_of(object));
  if (from == nullptr && self.region_count == 0 && !what.any()) return;
  if (from != nullptr) {
    add(what, load(from->reached));
    add(what, load(from->relaxed));  // a relaxed store behind a release fence
  }
  if (self.epoch == seen && holds(self.reached, what) && self.region_count == 0) return;
  const Charged locked;
  refresh(self);
  // Bits of an epoch that ended meanwhile now belong to other watches.
  if (epoch == seen) gain(self, what);
  meet_regions(self);
}

}  // namespace

void refresh(Thread& self) {
  if (self.epoch == epoch) return;
  self.epoch = epoch;
  self.reached = self.at_release_fence = self.before_acquire_fence = {};
}

void meet_regions(Thread& self) {
  if (self.region_count == 0) return;
  add(all_regions, {0, all_of(self)});
  self.reached.maybe |= all_regions.maybe | told_by_atomics.maybe;
}

void begin_epoch() {
  __atomic_store_n(&epoch, epoch + 1, __ATOMIC_RELAXED);
  for (Object& object : objects) {
    if (object.key == 0) continue;
    object.reached = object.relaxed = {};
    __atomic_store_n(&object.key, 0, __ATOMIC_RELAXED);
  }
  object_count = 0;
  all_regions = told_by_atomics = {};
}

void objects_after_fork() {
  state_lock.reset();
  begin_epoch();
}

void release(Thread& self, Address object) { release_to(self, object, false); }
void release_atomic(Thread& self, Address object) { release_to(self, object, true); }
void acquire(Thread& self, Address object) { acquire_from(self, object, {}); }
void acquire_atomic(Thread& self, Address object) { acquire_from(self, object, load(all_regions)); }
void release_relaxed(Thread& self, Address object) {
  if (self.epoch != epoch || !self.at_release_fence.any()) return;
  const Charged locked;
  refresh(self);
  if (!self.at_release_fence.any()) return;
  if (Object* const to = insert(one_address_of(object))) add(to->relaxed, self.at_release_fence);
}

// For an object that others release with an order, a relaxed load takes that for the fence too.
void acquire_relaxed(Thread& self, Address object) {
  const Object* const from = find(one_address_of(object));
  if (from == nullptr) return;
  const Charged locked;
  refresh(self);
  add(self.before_acquire_fence, from->reached);
  add(self.before_acquire_fence, from->relaxed);
}

void fence(Thread& self, bool acquires, bool releases) {
  const Charged locked;
  refresh(self);
  if (acquires) gain(self, self.before_acquire_fence);
  if (acquires) self.reached.maybe |= all_regions.maybe;
  meet_regions(self);
  if (!releases) return;
  self.at_release_fence = self.reached;
  add(told_by_atomics, {0, all_of(self)});
}

void unseen_code(Thread& self) {
  const Charged locked;
  refresh(self);
  add(all_regions, {0, all_of(self)});
  self.reached.maybe |= all_regions.maybe | told_by_atomics.maybe;
}

// An exception or a jump may have left a region's frame without its end. A frame that is certainly
// gone is well below ours; one that may only be close stays: that hides, never invents.
void region_begins(Thread& self, Address frame) {
  constexpr Address kSurely = 1024;
  while (self.region_count != 0 && self.region_count <= kMaxRegions &&
         self.regions[self.region_count - 1] + kSurely < frame)
    --self.region_count;
  if (self.region_count < kMaxRegions) self.regions[self.region_count] = frame;
  ++self.region_count;
}

void region_for_good(Thread& self) {
  region_begins(self, ~Address{0} / 2);  // no frame is above it
}

void region_ends(Thread& self) {
  if (self.region_count != 0) --self.region_count;
}

}  // namespace deadheat::runtime
