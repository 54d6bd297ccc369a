// Synchronisation events and their effect on clocks: the table of docs/design/trace-engines.md, as
// lib/analysis/clocks.cc implements it for traces. tests/programs compares the two.
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/detect/check.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/region_clocks.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

bool is_unseen(const Thread& self, Address pc) {
  if (self.ignore_sync > 0 || is_pool_code(pc)) return true;
  return runtime_options().hide_uninstrumented_sync != 0 && is_outside(pc);
}

namespace {

void hold(Thread& self, Address pc, Address lock, bool shared) {
  history_lock(self, lock, pc, shared);
  if (self.lock_count < kMaxLocks) self.locks[self.lock_count] = {lock, pc, shared};
  ++self.lock_count;
}

void let_go(Thread& self, Address lock) {
  history_unlock(self, lock);
  const uint32_t kept = self.lock_count < kMaxLocks ? self.lock_count : kMaxLocks;
  for (uint32_t i = kept; i-- > 0;) {
    if (self.locks[i].address != lock) continue;
    for (uint32_t j = i; j + 1 < kept; ++j) self.locks[j] = self.locks[j + 1];
    --self.lock_count;
    return;
  }
  if (self.lock_count > kMaxLocks) --self.lock_count;
}

}  // namespace

void on_lock(Thread* self, Address pc, Address lock, bool shared) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  hold(*self, pc, lock, shared);
  if (self->alone) return;
  acquire_from_regions(*self, lock);
  if (!may_have_object(lock)) return;
  SyncShard& shard = shard_of(lock);
  const Locked locked(shard.lock);
  const SyncObject* const object = find_object(shard, lock, SyncKind::kLock);
  if (object == nullptr) return;
  if (self->clock.get(object->release_slot) < object->release_tick)
    learn(self->clock, object->clock);
  if (!shared) learn(self->clock, object->shared);
}

void on_unlock(Thread* self, Address pc, Address lock, bool shared) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  look_again(*self);
  let_go(*self, lock);
  if (self->alone) return;
  SyncShard& shard = shard_of(lock);
  {
    const Locked locked(shard.lock);
    SyncObject* const object = make_object(shard, lock, SyncKind::kLock);
    if (object != nullptr && shared) {
      learn(object->shared, self->clock);
    } else if (object != nullptr && self->clock.covers(object->clock)) {
      // The releaser has seen every earlier release, so its clock replaces the lock's.
      if (!object->clock.assign(self->clock)) count_lost_edge();
      object->release_slot = self->slot;
      object->release_tick = self->tick;
    } else if (object != nullptr) {
      learn(object->clock, self->clock);
      object->release_tick = ~0U;
    }
  }
  advance(*self);
}

void on_lock_destroy(Thread* self, Address, Address lock) {
  const Busy busy(*self);
  drop_object(lock, SyncKind::kLock);
}

namespace {

void publish(Thread& self, Address pc, Address object, SyncKind kind) {
  if (self.alone || is_unseen(self, pc)) return;
  const Busy busy(self);
  release_object(self, object, kind);
}

void take(Thread& self, Address pc, Address object, SyncKind kind) {
  if (self.alone || is_unseen(self, pc)) return;
  const Busy busy(self);
  acquire_object(self, object, kind);
  acquire_from_regions(self, object);
}

}  // namespace

void on_notify(Thread* self, Address pc, Address condition) {
  publish(*self, pc, condition, SyncKind::kNotify);
}
void on_wait(Thread* self, Address pc, Address condition) {
  take(*self, pc, condition, SyncKind::kNotify);
}
void on_once_done(Thread* self, Address pc, Address once) {
  publish(*self, pc, once, SyncKind::kOnce);
}
void on_once_seen(Thread* self, Address pc, Address once) {
  take(*self, pc, once, SyncKind::kOnce);
}
void on_happens_before(Thread* self, Address pc, Address object) {
  publish(*self, pc, object, SyncKind::kAnnotation);
}
void on_happens_after(Thread* self, Address pc, Address object) {
  take(*self, pc, object, SyncKind::kAnnotation);
}

// The published tick continues until the end: the call's reads belong to it. If a signal handler
// ends it meanwhile, this is impossible; then the read is not checked.
void on_send_begin(Thread* self, Address pc, Address object) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  look_again(*self);
  publish_to(*self, object, SyncKind::kAnnotation);
  self->sending = self->tick;
}

void on_send_read(Thread* self, Address pc, Address begin, size_t size) {
  if (self->sending != 0 && self->sending != self->tick) return;
  on_range(self, pc, begin, size, false);
}

void on_send_end(Thread* self, Address) {
  if (self->sending == 0) return;
  const Busy busy(*self);
  advance(*self);
  self->sending = 0;
}

namespace {

BarrierState* barrier_state(SyncShard& shard, Address barrier) {
  SyncObject* const object = make_object(shard, barrier, SyncKind::kBarrier);
  if (object == nullptr) return nullptr;
  if (object->barrier == nullptr) object->barrier = arena_new<BarrierState>();
  return object->barrier;
}

void close_phase(BarrierState& state) {
  ++state.phase;
  state.entered = 0;
  state.clocks[state.phase % kBarrierPhases].clear();
}

}  // namespace

void on_barrier_init(Thread* self, Address, Address barrier, uint32_t count) {
  const Busy busy(*self);
  drop_object(barrier, SyncKind::kBarrier);
  if (count == 0) return;
  SyncShard& shard = shard_of(barrier);
  const Locked locked(shard.lock);
  if (BarrierState* const state = barrier_state(shard, barrier)) state->count = count;
}

// A phase closes with the entry that makes it full; if the count is unknown, with the first thread
// that leaves.
void on_barrier_enter(Thread* self, Address pc, Address barrier) {
  if (is_unseen(*self, pc)) return;
  const Busy busy(*self);
  look_again(*self);
  SyncShard& shard = shard_of(barrier);
  {
    const Locked locked(shard.lock);
    BarrierState* const state = barrier_state(shard, barrier);
    if (state == nullptr) return;
    self->barrier = {barrier, state->phase};
    learn(state->clocks[state->phase % kBarrierPhases], self->clock);
    if (++state->entered == state->count) close_phase(*state);
  }
  advance(*self);
}

void on_barrier_leave(Thread* self, Address pc, Address barrier) {
  if (is_unseen(*self, pc) || self->barrier.barrier != barrier) return;
  const Busy busy(*self);
  acquire_from_regions(*self, barrier);
  SyncShard& shard = shard_of(barrier);
  const Locked locked(shard.lock);
  BarrierState* const state = barrier_state(shard, barrier);
  if (state == nullptr) return;
  if (self->barrier.phase == state->phase) close_phase(*state);
  // So slow that its phase was overwritten: take all, which orders too much rather than too little.
  const bool gone = state->phase - self->barrier.phase >= kBarrierPhases;
  for (size_t i = 0; i < kBarrierPhases; ++i)
    if (gone || i == self->barrier.phase % kBarrierPhases) learn(self->clock, state->clocks[i]);
  self->barrier = {};
}

void on_fence(Thread* self, Address pc, MemoryOrder order) {
  if (self->alone || is_unseen(*self, pc)) return;
  const Busy busy(*self);
  if (releases(order)) look_again(*self);
  if (acquires(order)) {
    learn(self->clock, self->acquire_pending);
    self->acquire_pending.clear();
  }
  if (releases(order)) {
    if (!self->release_fence.assign(self->clock)) count_lost_edge();
    advance(*self);
  }
}

}  // namespace deadheat::runtime
