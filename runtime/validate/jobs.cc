#include "runtime/validate/jobs.h"

#include <linux/futex.h>
#include <time.h>

#include "runtime/common/intercept/signals.h"
#include "runtime/validate/answers.h"
#include "runtime/validate/budget.h"
#include "runtime/validate/infer.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

uint32_t production_work;
uint32_t stretch;

namespace {

constexpr uint32_t kMaxWatches = 1000;         // of one job: then it rests until a new serial comes
constexpr uint64_t kRestCycles = 20'000'000;   // some milliseconds, after the budget was used up
constexpr uint32_t kBudgetEvery = 32;          // slow paths
constexpr uint64_t kHandOverNs = 100'000'000;  // for the other thread to make its access

Job jobs[DHV_JOBS];
Pause pauses[DHV_JOBS];
Thread* threads;
uint32_t live;
uint64_t used_bits;  // of this epoch
uint32_t next_bit;
uint64_t rest_until;  // in cycles
uint32_t slow_paths;

// --- Watches. All with state_lock held.

void end_watch(Job& job) {
  if (!job.watch.active) return;
  job.watch.active = false;
  if (__atomic_sub_fetch(&tracking, 1, __ATOMIC_SEQ_CST) == 0) remove_state(0, DHV_STATE_SYNC);
}

void begin_watch(Thread& self, Job& job, uint32_t role, const Range& bytes) {
  if (live < 2 || job.watches >= kMaxWatches) return;
  if (tracking == 0) {
    begin_epoch();
    used_bits = 0;
  }
  if (used_bits == ~uint64_t{0}) return;  // until no watch is left
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
  // From here on every release of this thread hands the bit on, before its access is made.
  __atomic_add_fetch(&tracking, 1, __ATOMIC_SEQ_CST);
  add_state(0, DHV_STATE_SYNC);
  note_progress(job, DHV_SEEN_WATCHED);
}

// No watch without an active job: whoever has something to hand on knows that somebody asks.
void count_active() {
  uint32_t active = 0;
  for (const Job& job : jobs) active += job.active ? 1 : 0;
  if (active != 0 && production_work == 0) __atomic_add_fetch(&stretch, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&production_work, active, __ATOMIC_SEQ_CST);
}

// The site has no more business with this job; a new wish may have come meanwhile.
void finish_job(Job& job) {
  end_watch(job);
  job.active = false;
  count_active();
  for (const uint32_t site : job.sites) {
    bool named = false;
    for (const Job& other : jobs)
      named |= other.active && (other.sites[0] == site || other.sites[1] == site);
    if (!named) remove_state(site, DHV_STATE_JOB);
  }
}

void take_job(size_t index, uint32_t serial) {
  Job& job = jobs[index];
  end_watch(job);
  const dhv_job& wish = page()->jobs[index];
  job = {};
  job.slot = static_cast<uint32_t>(index);
  job.serial = serial;
  job.candidate = __atomic_load_n(&wish.candidate, __ATOMIC_RELAXED);
  job.order = __atomic_load_n(&wish.order, __ATOMIC_RELAXED);
  job.tau_us = __atomic_load_n(&wish.tau_us, __ATOMIC_RELAXED);
  job.bound_ms = __atomic_load_n(&wish.bound_ms, __ATOMIC_RELAXED);
  const uint64_t lease_ms = __atomic_load_n(&wish.lease_ms, __ATOMIC_RELAXED);
  job.end_ns = lease_ms == 0 ? 0 : now_ns() + lease_ms * 1'000'000;
  job.promoted = (__atomic_load_n(&wish.flags, __ATOMIC_RELAXED) & DHV_JOB_PROMOTED) != 0;
  if (serial == 0) return;
  if (job.candidate >= pair_count() || job.order > DHV_ORDER_ALTERNATE ||
      job.tau_us > DHV_MAX_TAU_US) {
    count(page()->counters.bad_jobs);
    return;
  }
  if (job.bound_ms == 0 || job.bound_ms > 3'600'000) job.bound_ms = DHV_BOUND_MS;
  job.sites[0] = pairs()[job.candidate].sites[0];
  job.sites[1] = pairs()[job.candidate].sites[1];
  job.active = true;
  start_answer(job);
}

void take_jobs() {
  bool changed = false;
  for (size_t i = 0; i < DHV_JOBS; ++i) {
    const uint32_t serial = __atomic_load_n(&page()->jobs[i].serial, __ATOMIC_ACQUIRE);
    if (serial == jobs[i].serial) continue;
    take_job(i, serial);
    changed = true;
  }
  if (!changed) return;
  count_active();
  for (const Job& job : jobs) {
    if (!job.active) continue;
    for (const uint32_t site : job.sites) add_state(site, DHV_STATE_JOB);
  }
}

// A validator that was killed takes nothing back: its jobs end with their lease.
void drop_old_jobs() {
  const uint64_t now = now_ns();
  for (Job& job : jobs) {
    if (!job.active || job.end_ns == 0 || now < job.end_ns) continue;
    count(page()->counters.leases_over);
    finish_job(job);
  }
}

// --- What an access means to a job.

bool meets_pause(Thread& self, Job& job, uint32_t site, const Range& bytes) {
  Pause& pause = pauses[job.slot];
  if (!pause.active || pause.matched || pause.serial != job.serial ||
      job.sites[1 - pause.role] != site || pause.thread == self.common.number ||
      !pause.bytes.conflicts(bytes))
    return false;
  pause.matched = true;
  self.wakes = job.slot + 1;
  self.wakes_turn = pause.turn;
  const Met met = {1 - pause.role, self.common.kernel_id, pause.kernel_id, bytes};
  answer(job, DHV_OUTCOME_RACE_MADE, met);
  return true;
}

bool meets_watch(Thread& self, Job& job, uint32_t site, const Range& bytes) {
  const Watch& watch = job.watch;
  if (!watch.active || job.sites[1 - watch.role] != site || watch.thread == self.common.number ||
      !watch.bytes.conflicts(bytes))
    return false;
  refresh(self);
  meet_regions(self);
  const Met met = {watch.role, watch.kernel_id, self.common.kernel_id, watch.bytes};
  const bool ordered = (self.reached.ordered & watch.bit) != 0;
  const bool maybe = (self.reached.maybe & watch.bit) != 0;
  answer(job,
         ordered ? DHV_OUTCOME_NO_RACE
         : maybe ? DHV_OUTCOME_SIGHTING
                 : DHV_OUTCOME_RACE_OBSERVED,
         met);
  if (ordered || !maybe) return true;
  end_watch(job);  // the next pair may say more
  return false;
}

uint32_t held_now(const Thread& self) {
  if (self.stretch != stretch) return 0;
  return self.held_count < kMaxHeld ? self.held_count : kMaxHeld;
}

bool share_a_lock(const Thread& self, const Job& job, uint32_t role) {
  for (uint32_t i = 0; i < held_now(self); ++i)
    for (const Address other : job.locks[role])
      if (other != 0 && other == self.held[i]) return true;
  return false;
}

void note_locks(const Thread& self, Job& job, uint32_t role) {
  for (uint32_t i = 0; i < kNotedLocks; ++i)
    job.locks[role][i] = i < held_now(self) ? self.held[i] : 0;
}

// The wished order would be missed by this access, and the other side may come in time.
bool wants_to_wait(Thread& self, Job& job, uint32_t role) {
  const uint32_t second = job.order == DHV_ORDER_PRIMARY ? 1 : 0;
  if ((__atomic_load_n(&page()->switches, __ATOMIC_RELAXED) & DHV_SWITCH_STEER) == 0 ||
      job.order == DHV_ORDER_ANY || job.tau_us == 0 || job.steered || live < 2 ||
      (role != second && job.sites[0] != job.sites[1]) || self.common.signal_depth != 0 ||
      pauses[job.slot].active || (!job.promoted && !is_promoted(job.candidate)))
    return false;
  if (share_a_lock(self, job, 1 - role)) {
    note_progress(job, DHV_SEEN_COMMON_LOCK);
    count(page()->counters.common_lock);
    return false;
  }
  if (!charge_wait(self, job.tau_us)) {
    note_progress(job, DHV_SEEN_NO_CREDIT);
    count(page()->counters.no_credit);
    return false;
  }
  return true;
}

Pause* begin_pause(Thread& self, Job& job, uint32_t role, const Range& bytes) {
  job.steered = true;
  note_progress(job, DHV_SEEN_STEERED);
  count(page()->counters.waits);
  Pause& pause = pauses[job.slot];
  const uint32_t turn = pause.turn + 1;
  pause = {};
  pause.turn = turn;
  pause.serial = job.serial;
  pause.thread = self.common.number;
  pause.kernel_id = self.common.kernel_id;
  pause.role = role;
  pause.bytes = bytes;
  pause.tau_us = job.tau_us;
  pause.active = true;
  return &pause;
}

// The role that the site has in the job for the thread that comes now.
uint32_t role_of(const Job& job, uint32_t site) {
  if (job.sites[0] != job.sites[1]) return job.sites[0] == site ? 0 : 1;
  return job.order == DHV_ORDER_PRIMARY ? 1 : 0;  // as if it were the one to wait
}

Pause* look_at_jobs(Thread& self, uint32_t site, const Range& bytes) {
  Pause* pause = nullptr;
  for (Job& job : jobs) {
    if (!job.active || (job.sites[0] != site && job.sites[1] != site)) continue;
    const uint32_t role = role_of(job, site);
    note_progress(job, role == 0 ? DHV_SEEN_FIRST : DHV_SEEN_SECOND);
    if (meets_pause(self, job, site, bytes) || meets_watch(self, job, site, bytes)) {
      finish_job(job);
      continue;
    }
    note_locks(self, job, role);
    if (job.watch.active) continue;
    if (pause == nullptr && wants_to_wait(self, job, role)) {
      pause = begin_pause(self, job, role, bytes);
    } else if (!pauses[job.slot].active) {
      begin_watch(self, job, role, bytes);
    }
  }
  return pause;
}

// A job may be over before its validator has set the bits of its sites, and the validator killed
// before it takes them back. A job that is placed meanwhile is seen: its serial is written before
// its bits are.
void leave_if_unnamed(uint32_t site) {
  for (const Job& job : jobs)
    if (job.active && (job.sites[0] == site || job.sites[1] == site)) return;
  remove_state(site, DHV_STATE_JOB);
  take_jobs();
}

// --- Steering.

void wait_until(uint32_t& word, uint64_t deadline_ns) {
  for (;;) {
    if (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 0) return;
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return;
    const uint64_t left = deadline_ns - now;
    const timespec time = {static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    system_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0,
                reinterpret_cast<long>(&time));
  }
}

void hold_back(Thread& self, Pause& pause, const Range& bytes) {
  const uint64_t begun = now_ns();
  const uint32_t tau_us = pause.tau_us;
  self.waits = true;  // signal handlers run at once; what they access is not looked at
  wait_until(pause.done, begun + uint64_t{tau_us} * 1000);
  if (__atomic_load_n(&pause.matched, __ATOMIC_ACQUIRE))
    wait_until(pause.done, now_ns() + kHandOverNs);
  self.waits = false;
  const uint64_t took = now_ns() - begun;
  const Inside inside(&self);
  const Locked locked(state_lock);
  pause.active = false;
  give_back(self, tau_us, took);
  count(page()->counters.waited_ns, took);
  Job& job = jobs[&pause - pauses];
  if (job.serial != pause.serial) return;
  note_wait(job, static_cast<uint32_t>(took / 1000));
  if (pause.matched || !job.active) return;
  answer(job, DHV_OUTCOME_TIMEOUT, {pause.role, pause.kernel_id, 0, bytes});
  // It goes first after all: what comes next is looked at all the same.
  if (!job.watch.active) begin_watch(self, job, pause.role, bytes);
}

void rest() {
  __atomic_store_n(&rest_until, cycles() + kRestCycles, __ATOMIC_RELAXED);
  count(page()->counters.no_credit);
}

bool resting(Thread& self) {
  const uint64_t until = __atomic_load_n(&rest_until, __ATOMIC_RELAXED);
  if (until != 0 && cycles() < until) return true;
  // At the end of a rest the budget is asked at once: what was overdrawn may need several.
  const uint32_t turn = __atomic_add_fetch(&slow_paths, 1, __ATOMIC_RELAXED);
  if (until == 0 && turn % kBudgetEvery != 0) return false;
  {
    const Inside inside(&self);
    const Locked locked(state_lock);
    drop_old_jobs();
  }
  if (!may_work()) {
    rest();
    return true;
  }
  __atomic_store_n(&rest_until, 0, __ATOMIC_RELAXED);
  return false;
}

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

void job_access(Thread& self, uint32_t site, const Range& bytes) {
  if ((__atomic_load_n(&page()->switches, __ATOMIC_RELAXED) & DHV_SWITCH_DETECT) == 0 ||
      resting(self))
    return;
  const uint64_t begun = cycles();
  Pause* pause = nullptr;
  {
    const Inside inside(&self);
    const Locked locked(state_lock);
    take_jobs();
    pause = look_at_jobs(self, site, bytes);
    leave_if_unnamed(site);
  }
  charge_slow(cycles() - begun);
  if (pause != nullptr) hold_back(self, *pause, bytes);
  if (is_tracking() && ++self.tracked % 64 == 0) look_at_clock(self);
}

void job_access_made(Thread& self) {
  if (self.wakes == 0) return;
  const Inside inside(&self);
  const Locked locked(state_lock);
  Pause& pause = pauses[self.wakes - 1];
  self.wakes = 0;
  if (!pause.active || pause.turn != self.wakes_turn) return;
  __atomic_store_n(&pause.done, 1, __ATOMIC_RELEASE);
  system_call(SYS_futex, reinterpret_cast<long>(&pause.done), FUTEX_WAKE_PRIVATE, 1);
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
  // Synchronisation costs while something is watched: without credit nothing is.
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

void jobs_after_fork(Thread& self) {
  for (Job& job : jobs) job = {};
  for (Pause& pause : pauses) pause = {};
  tracking = 0;
  production_work = 0;
  threads = &self;
  self.next = self.previous = nullptr;
  self.wakes = 0;
  live = 1;
  budget_start();
}

}  // namespace deadheat::runtime
