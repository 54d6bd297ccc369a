// Watches of first accesses, and the lives of the threads that may become ordered after them.
#include "runtime/common/intercept/signals.h"
#include "runtime/validate/budget.h"
#include "runtime/validate/job_table.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

uint32_t live;

namespace {

constexpr uint32_t kMaxWatches = 1000;  // per job: then it rests until a new serial

Thread* threads;
constexpr int kMovable = 48;  // of 64 bits; the others are for first accesses
uint64_t used_bits;           // of this epoch
uint32_t next_bit;

void drop_thread(Thread& ended) {
  if (ended.previous != nullptr) ended.previous->next = ended.next;
  if (ended.next != nullptr) ended.next->previous = ended.previous;
  if (threads == &ended) threads = ended.next;
  ended.next = ended.previous = nullptr;
}

void one_less(Job& job) {
  if (!job.watch.active || --job.watch.remaining != 0) return;
  count(page()->counters.ended_ordered);
  const Watch& watch = job.watch;
  answer(job, DHV_OUTCOME_NO_RACE_WEAK, {watch.role, watch.kernel_id, 0, watch.bytes});
  end_watch(job);
}
}  // namespace

void end_watch(Job& job) {
  if (!job.watch.active) return;
  job.watch.active = false;
  if (__atomic_sub_fetch(&tracking, 1, __ATOMIC_SEQ_CST) == 0) remove_state(0, DHV_STATE_SYNC);
}

bool watch_may_move() { return __builtin_popcountll(used_bits) < kMovable; }

void begin_watch(Thread& self, Job& job, uint32_t role, const Range& bytes) {
  if (live < 2) return;
  if (tracking == 0) {
    begin_epoch();
    used_bits = 0;
  }
  // All bits are used until no watch is left.
  if (used_bits == ~uint64_t{0} || job.watches >= kMaxWatches) {
    count(page()->counters.unwatched);
    return;
  }
  while ((used_bits >> next_bit & 1) != 0) next_bit = (next_bit + 1) % 64;
  Watch& watch = job.watch;
  watch.bit = uint64_t{1} << next_bit;
  used_bits |= watch.bit;
  next_bit = (next_bit + 1) % 64;
  watch.thread = self.common.number;
  watch.kernel_id = self.common.kernel_id;
  watch.role = role;
  watch.bytes = bytes;
  watch.end_ns = now_ns() + uint64_t{job.bound_ms} * 1'000'000;
  watch.remaining = live - 1;
  watch.active = true;
  ++job.watches;
  refresh(self);
  self.reached.ordered |= watch.bit;
  meet_regions(self);
  count(page()->counters.watches);
  // From here on every release of this thread passes the bit on, before its access is made.
  __atomic_add_fetch(&tracking, 1, __ATOMIC_SEQ_CST);
  add_state(0, DHV_STATE_SYNC);
  note_progress(job, DHV_SEEN_WATCHED);
}

void on_ordered(Thread&, uint64_t bits) {
  for (Job& job : jobs)
    if (job.watch.active && (job.watch.bit & bits) != 0) one_less(job);
}

void on_lost_edges() {
  count(page()->counters.no_room);
  for (Job& job : jobs) end_watch(job);
}

void look_at_clock(Thread& self) {
  const Inside inside(&self);
  const Locked locked(state_lock);
  const uint64_t now = now_ns();
  // Synchronisation costs while something is watched: without credit, nothing is.
  const bool no_credit = tracking != 0 && !may_work();
  if (no_credit) rest();
  for (Job& job : jobs) {
    if (!job.watch.active || (now < job.watch.end_ns && !no_credit)) continue;
    if (!no_credit) count(page()->counters.ended_bound);
    const Watch& watch = job.watch;
    answer(job, DHV_OUTCOME_EXPIRED, {watch.role, watch.kernel_id, 0, watch.bytes});
    end_watch(job);
  }
}

void thread_begins(Thread& created, const Thread* parent) {
  const Locked locked(state_lock);
  created.next = threads;
  if (threads != nullptr) threads->previous = &created;
  threads = &created;
  ++live;
  if (parent == nullptr || tracking == 0) return;
  auto& from = const_cast<Thread&>(*parent);
  refresh(from);
  meet_regions(from);
  created.epoch = from.epoch;
  created.reached = from.reached;
  for (Job& job : jobs)
    if (job.watch.active && (created.reached.ordered & job.watch.bit) == 0) ++job.watch.remaining;
}

void thread_is_over(Thread& ended) {
  const Locked locked(state_lock);
  drop_thread(ended);
  --live;
  if (tracking == 0) return;
  refresh(ended);
  for (Job& job : jobs)
    if (job.watch.active && (ended.reached.ordered & job.watch.bit) == 0) one_less(job);
}

void thread_was_joined(Thread& self, Thread& joined) {
  if (!is_tracking()) return;
  const Locked locked(state_lock);
  refresh(self);
  refresh(joined);
  const uint64_t fresh = joined.reached.ordered & ~self.reached.ordered;
  self.reached.ordered |= joined.reached.ordered;
  self.reached.maybe |= joined.reached.maybe;
  if (fresh != 0) on_ordered(self, fresh);
}

void memory_is_gone(Address begin, size_t size) {
  if (!is_tracking()) return;
  const Locked locked(state_lock);
  for (Job& job : jobs) {
    const Watch& watch = job.watch;
    if (!watch.active || !watch.bytes.overlaps(begin, begin + size)) continue;
    count(page()->counters.ended_memory);
    answer(job, DHV_OUTCOME_EXPIRED, {watch.role, watch.kernel_id, 0, watch.bytes});
    end_watch(job);
  }
}
void watches_after_fork(Thread& self) {
  tracking = 0;
  threads = &self;
  self.next = self.previous = nullptr;
  live = 1;
}

}  // namespace deadheat::runtime
