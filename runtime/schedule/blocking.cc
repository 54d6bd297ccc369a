// Implements runtime/common/blocking.h: operations that would block wait here, for the object's
// release, a deadline or a thread's end.
#include "runtime/schedule/busy.h"
#include "runtime/schedule/decision_log.h"

namespace deadheat::runtime {

bool mode_schedules(const Thread* self) {
  return self->common.critical == 0 && self->common.inside == 0;
}

void mode_point(Thread* self, Address pc, Point point, Address object) {
  if (alone(*self)) return;
  if (point == Point::kYield) count_yield();
  const Next next = {
      .point = point, .pc = pc, .object = object, .size = 1, .lock = point == Point::kLock};
  point_at(*self, next, next.lock && is_site(pc));
}

Woken mode_block(Thread* self, Address pc, Point point, Address object, uint64_t deadline_ns) {
  const Busy busy(*self);
  schedule_lock.lock();
  if (self->state != State::kRunning) take_turn(*self), schedule_lock.lock();
  self->next = {.point = point, .pc = pc, .object = object, .size = 1};
  self->state = State::kBlocked;
  self->waits = true;
  self->deadline_ns = deadline_ns;
  if (point == Point::kWait && wakes_spuriously()) {
    wake(*self, Woken::kReleased);
    self->next.flags |= DHD_SPURIOUS;
    ++counts.spurious;
  }
  pass_baton(*self);
  return self->woken;
}

uint32_t mode_release(Address object, uint32_t count) {
  const Locked locked(schedule_lock);
  static Choice waiting;
  waiting.count = 0;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kBlocked && thread->waits && thread->next.object == object &&
        waiting.count < kMaxChoice)
      waiting.threads[waiting.count++] = thread;
  uint32_t woken = 0;
  for (; waiting.count > 0 && woken < count; ++woken) {
    Thread* chosen = waiting.threads[0];
    if (count < waiting.count) {
      chosen = &one_of(waiting);
      chosen->next.flags |= DHD_CHOSEN_TO_WAKE;
    }
    wake(*chosen, Woken::kReleased);
    for (size_t i = 0; i < waiting.count; ++i)
      if (waiting.threads[i] == chosen) waiting.threads[i] = waiting.threads[waiting.count - 1];
    --waiting.count;
  }
  return woken;
}

bool mode_await_end(Thread* self, Address pc, Thread* other, uint64_t deadline_ns) {
  const Busy busy(*self);
  schedule_lock.lock();
  if (self->state != State::kRunning) take_turn(*self), schedule_lock.lock();
  if (other->state == State::kEnded) {
    schedule_lock.unlock();
    return true;
  }
  self->next = {
      .point = Point::kJoin, .pc = pc, .object = reinterpret_cast<Address>(other), .size = 1};
  self->state = State::kBlocked;
  self->waits_for = other;
  self->deadline_ns = deadline_ns;
  pass_baton(*self);
  return self->woken != Woken::kTimedOut;
}

bool mode_thread_over(uint32_t kernel_id) {
  const Locked locked(schedule_lock);
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->common.kernel_id == kernel_id) return thread->state == State::kEnded;
  return true;
}

}  // namespace deadheat::runtime
