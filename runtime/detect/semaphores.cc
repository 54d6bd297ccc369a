// Semaphores: lib/order/semaphore.h decides which posts come before a wait.
//
// Where the tokens are unknown, every earlier post does: a semaphore that was initialised elsewhere
// or is shared with other processes, one that unreported code used (counted nowhere: it can hide a
// race, never invent one), and a look at the count (sem_getvalue).
#include "runtime/common/arena.h"
#include "runtime/detect/check.h"
#include "runtime/detect/region_clocks.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

namespace {

// Some wait was not reported: no count is reliable from here on.
bool counts_unsure;

bool is_counted(const SyncObject& object) {
  return object.semaphore != nullptr && !__atomic_load_n(&counts_unsure, __ATOMIC_RELAXED) &&
         object.semaphore->is_counted();
}

const auto store = [](Clock& into, const Clock& from) {
  if (!into.assign(from)) count_lost_edge();
};

}  // namespace

void semaphore_wait_was_unseen() { __atomic_store_n(&counts_unsure, true, __ATOMIC_RELAXED); }

namespace {

// Who uses it already keeps what was posted: perhaps nothing but the count changed.
void lose_count(Address semaphore) {
  SyncShard& shard = shard_of(semaphore);
  const Locked locked(shard.lock);
  SyncObject* const object = find_object(shard, semaphore, SyncKind::kSemaphore);
  if (object != nullptr && object->semaphore != nullptr) object->semaphore->lose_count();
}

}  // namespace

void on_semaphore_init(Thread* self, Address, Address semaphore, uint32_t tokens) {
  const Busy busy(*self);
  if (tokens == kUnknownTokens) return lose_count(semaphore);
  drop_object(semaphore, SyncKind::kSemaphore);
  look_again(*self);
  SyncShard& shard = shard_of(semaphore);
  {
    const Locked locked(shard.lock);
    SyncObject* const object = make_object(shard, semaphore, SyncKind::kSemaphore);
    if (object == nullptr) return;
    learn(object->clock, self->clock);
    object->semaphore = arena_new<order::SemaphoreOrder<Clock>>();
    if (object->semaphore == nullptr) return;
    object->semaphore->start(tokens, self->clock, learn);
  }
  advance(*self);
}

void on_semaphore_post(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  look_again(*self);
  SyncShard& shard = shard_of(semaphore);
  {
    const Locked locked(shard.lock);
    SyncObject* const object = make_object(shard, semaphore, SyncKind::kSemaphore);
    if (object != nullptr) learn(object->clock, self->clock);
    if (object != nullptr && object->semaphore != nullptr)
      object->semaphore->post(self->clock, {self->slot, self->tick}, learn, store);
  }
  advance(*self);
}

void on_semaphore_wait(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return semaphore_wait_was_unseen();
  const Busy busy(*self);
  {
    SyncShard& shard = shard_of(semaphore);
    const Locked locked(shard.lock);
    SyncObject* const object = find_object(shard, semaphore, SyncKind::kSemaphore);
    if (object != nullptr && object->semaphore != nullptr) object->semaphore->wait();
    if (object != nullptr && is_counted(*object))
      object->semaphore->learn_needed(self->clock, learn);
    else if (object != nullptr)
      learn(self->clock, object->clock);
  }
  acquire_from_regions(*self, semaphore);
}

void on_semaphore_seen(Thread* self, Address pc, Address semaphore) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  acquire_object(*self, semaphore, SyncKind::kSemaphore);
  acquire_from_regions(*self, semaphore);
}

}  // namespace deadheat::runtime
