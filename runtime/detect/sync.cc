#include "runtime/detect/sync.h"

#include "runtime/detect/check.h"

namespace deadheat::runtime {

SyncShard sync_shards[kSyncShards];
AddressBits<6> sync_lines;

namespace {

uint64_t lost_edges;

template <typename T>
void destroy_part(T* part) {
  if (part == nullptr) return;
  part->~T();
  arena_free(part, sizeof(T));
}

void free_object(SyncObject* object) {
  object->~SyncObject();
  arena_free(object, sizeof(SyncObject));
}

// Programs make and drop objects all the time (the counter of each shared_ptr is one): a thread
// keeps some, with the memory of their clocks, for the next that it makes.
constexpr uint32_t kMostSpares = 64;
constexpr uint32_t kLongClock = 64;

void destroy(SyncObject* object) {
  destroy_part(object->barrier);
  destroy_part(object->semaphore);
  Thread* const self = tls_self;
  if (self == nullptr || self->spare_count == kMostSpares ||
      object->clock.capacity() > kLongClock || object->shared.capacity() > kLongClock)
    return free_object(object);
  object->clock.clear();
  object->shared.clear();
  object->release_slot = 0;
  object->release_tick = ~0U;
  object->heads = 0;
  object->barrier = nullptr;
  object->semaphore = nullptr;
  object->next = self->spare_objects;
  self->spare_objects = object;
  ++self->spare_count;
}

SyncObject* new_object() {
  Thread* const self = tls_self;
  if (self == nullptr || self->spare_objects == nullptr) return arena_new<SyncObject>();
  SyncObject* const object = self->spare_objects;
  self->spare_objects = object->next;
  --self->spare_count;
  return object;
}

template <typename Matches>
void drop_matching(SyncShard& shard, Matches matches) {
  SyncObject** at = &shard.first;
  while (*at != nullptr) {
    SyncObject* const object = *at;
    if (matches(*object)) {
      *at = object->next;
      destroy(object);
    } else {
      at = &object->next;
    }
  }
}

}  // namespace

SyncObject* find_object(SyncShard& shard, Address address, SyncKind kind) {
  for (SyncObject* object = shard.first; object != nullptr; object = object->next)
    if (object->address == address && object->kind == kind) return object;
  return nullptr;
}

SyncObject* make_object(SyncShard& shard, Address address, SyncKind kind) {
  if (SyncObject* const found = find_object(shard, address, kind)) return found;
  SyncObject* const object = new_object();
  if (object == nullptr) {
    count_lost_edge();
    return nullptr;
  }
  object->address = address;
  object->kind = kind;
  object->next = shard.first;
  shard.first = object;
  sync_lines.set(address);
  return object;
}

void drop_objects(Address begin, size_t size) {
  const Address end = begin + size;
  for (Address at = begin & ~Address{63}; at < end; at += 64) {
    if (!sync_lines.test(at)) {
      // Skip 64 lines at once where the word is empty.
      const uint64_t* const word = sync_lines.find(at);
      if (word == nullptr) {
        at = (((at >> kSegmentShift) + 1) << kSegmentShift) - 64;
      } else if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0) {
        at = (at | (AddressBits<6>::kBytesPerWord - 1)) - 63;
      }
      continue;
    }
    SyncShard& shard = shard_of(at);
    const Locked locked(shard.lock);
    bool others = false;
    drop_matching(shard, [&](const SyncObject& object) {
      if ((object.address & ~Address{63}) != at) return false;
      const bool inside = object.address >= begin && object.address < end;
      others |= !inside;
      return inside;
    });
    if (!others) sync_lines.clear(at);
  }
}

void drop_object(Address address, SyncKind kind) {
  if (!may_have_object(address)) return;
  SyncShard& shard = shard_of(address);
  const Locked locked(shard.lock);
  drop_matching(shard, [=](const SyncObject& object) {
    return object.address == address && object.kind == kind;
  });
}

void acquire_object(Thread& self, Address address, SyncKind kind) {
  if (!may_have_object(address)) return;
  SyncShard& shard = shard_of(address);
  const Locked locked(shard.lock);
  if (const SyncObject* const object = find_object(shard, address, kind))
    learn(self.clock, object->clock);
}

void publish_to(Thread& self, Address address, SyncKind kind) {
  SyncShard& shard = shard_of(address);
  const Locked locked(shard.lock);
  SyncObject* const object = make_object(shard, address, kind);
  if (object != nullptr) learn(object->clock, self.clock);
}

void release_object(Thread& self, Address address, SyncKind kind) {
  look_again(self);
  publish_to(self, address, kind);
  advance(self);
}

void free_spare_objects(Thread& self) {
  while (SyncObject* const object = self.spare_objects) {
    self.spare_objects = object->next;
    free_object(object);
  }
  self.spare_count = 0;
}

// The child must find the table consistent.
void sync_before_fork() {
  for (SyncShard& shard : sync_shards) shard.lock.lock();
}
void sync_after_fork() {
  for (SyncShard& shard : sync_shards) shard.lock.unlock();
}

uint64_t edges_lost() { return lost_edges; }
void count_lost_edge() { __atomic_fetch_add(&lost_edges, 1, __ATOMIC_RELAXED); }

}  // namespace deadheat::runtime
