#include "runtime/validate/jobs.h"

#include <linux/futex.h>
#include <sys/auxv.h>
#include <time.h>

#include "runtime/common/intercept/signals.h"
#include "runtime/common/modules.h"
#include "runtime/common/unseen.h"
#include "runtime/validate/budget.h"
#include "runtime/validate/hooked_sites.h"
#include "runtime/validate/infer.h"
#include "runtime/validate/job_table.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kRestCycles = 20'000'000;   // some milliseconds, after the budget was used up
constexpr uint32_t kBudgetEvery = 32;          // slow paths
constexpr uint64_t kHandOverNs = 100'000'000;  // for the other thread to make its access
Pause pauses[DHV_JOBS];
uint64_t rest_until;  // in cycles
uint32_t slow_paths;

// --- What an access means for a job.

bool meets_pause(Thread& self, Job& job, uint32_t site, const Range& bytes) {
  Pause& pause = pauses[job.slot];
  if (!pause.active || pause.interrupted || pause.matched || pause.serial != job.serial ||
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

// Synchronisation without marks: its absence proves nothing.
bool code_without_marks() {
  const Module* const program = find_module(getauxval(AT_ENTRY));
  return hooked_without_marks() || any_was_met() || program == nullptr ||
         program->instrumented == Instrumentation::kNo;
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
  const bool maybe = (self.reached.maybe & watch.bit) != 0 || code_without_marks();
  answer(job,
         ordered ? DHV_OUTCOME_NO_RACE
         : maybe ? DHV_OUTCOME_SIGHTING
                 : DHV_OUTCOME_RACE_OBSERVED,
         met);
  if (ordered || !maybe) return true;
  end_watch(job);  // the next pair may be conclusive
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
bool wants_to_wait(Thread& self, Job& job, uint32_t role, const Range& bytes) {
  // A line against itself may read much and write little: the other thread's reads or writes meet
  // a write.
  if (job.sites[0] == job.sites[1] && !bytes.write) return false;
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
  self.waits = true;  // before signals that came meanwhile are handled
  return &pause;
}

// The site's role in the job for the thread that arrives now.
uint32_t role_of(const Job& job, uint32_t site) {
  if (job.sites[0] != job.sites[1]) return job.sites[0] == site ? 0 : 1;
  return job.order == DHV_ORDER_PRIMARY ? 1 : 0;  // as if it were the one to wait
}

// A site may be a loop over an array, or a line with several accesses: the first bytes need not be
// those where the other side comes. The thread that watches takes other bytes of its site instead
// after 1, 2, 4... of them, up to 1024; then the watch stays where it is.
bool moves_on(const Thread& self, Job& job, uint32_t role, const Range& bytes) {
  constexpr uint32_t kFarthest = 1024;
  const Watch& watch = job.watch;
  if (watch.thread != self.common.number || watch.role != role ||
      watch.bytes.overlaps(bytes.begin, bytes.end) || job.stays > kFarthest ||
      ++job.passed < job.stays || !watch_may_move())
    return false;
  job.passed = 0;
  job.stays *= 2;
  count(page()->counters.moved);
  end_watch(job);
  return true;
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
    // What a line that is against itself read before its write is watched no longer: the write may
    // be where the thread is held back.
    if (job.watch.active && job.watch.thread == self.common.number && bytes.write &&
        !job.watch.bytes.write && job.sites[0] == job.sites[1] && !job.steered)
      end_watch(job);
    if (job.watch.active && !moves_on(self, job, role, bytes)) continue;
    if (pause == nullptr && wants_to_wait(self, job, role, bytes)) {
      pause = begin_pause(self, job, role, bytes);
    } else if (!pauses[job.slot].active) {
      begin_watch(self, job, role, bytes);
    }
  }
  return pause;
}
// --- Steering.

// The thread's own pause: a handler of a signal that came may have given it away.
bool is_ours(const Pause& pause, const Thread& self, uint32_t turn) {
  return self.waits && pause.active && pause.turn == turn;
}

void wait_until(Thread& self, Pause& pause, uint32_t turn, uint64_t deadline_ns) {
  uint32_t& word = pause.done;
  for (;;) {
    if (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 0) return;
    if (__atomic_load_n(&pause.interrupted, __ATOMIC_RELAXED)) {
      const Inside inside(&self);
      const Locked locked(state_lock);
      if (is_ours(pause, self, turn)) pause.interrupted = false;  // the handler has returned
    }
    const uint64_t now = now_ns();
    if (now >= deadline_ns || !self.waits) return;
    const uint64_t left = deadline_ns - now;
    const timespec time = {static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    system_call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0,
                reinterpret_cast<long>(&time));
  }
}

void hold_back(Thread& self, Pause& pause, const Range& bytes) {
  const uint64_t begun = now_ns();
  const uint32_t tau_us = pause.tau_us, turn = pause.turn;
  // Signal handlers run at once; their accesses are ignored.
  wait_until(self, pause, turn, begun + uint64_t{tau_us} * 1000);
  if (__atomic_load_n(&pause.matched, __ATOMIC_ACQUIRE))
    wait_until(self, pause, turn, now_ns() + kHandOverNs);
  const uint64_t took = now_ns() - begun;
  // From here on handlers wait: none finds a thread that looks held back and is not.
  const Inside inside(&self);
  const Locked locked(state_lock);
  const bool ours = is_ours(pause, self, turn);
  self.waits = false;
  if (ours) pause.active = false;
  give_back(self, tau_us, took);
  count(page()->counters.waited_ns, took);
  if (!ours) return;
  Job& job = jobs[&pause - pauses];
  if (job.serial != pause.serial) return;
  note_wait(job, static_cast<uint32_t>(took / 1000));
  if (pause.matched || !job.active) return;
  answer(job, DHV_OUTCOME_TIMEOUT, {pause.role, pause.kernel_id, 0, bytes});
  // It goes first after all: the following accesses are still observed.
  if (!job.watch.active) begin_watch(self, job, pause.role, bytes);
}
bool resting(Thread& self) {
  const uint64_t until = __atomic_load_n(&rest_until, __ATOMIC_RELAXED);
  if (until != 0 && cycles() < until) return true;
  // After a rest the budget is checked at once: an overdraft may take several rests.
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
}  // namespace

void rest() {
  __atomic_store_n(&rest_until, cycles() + kRestCycles, __ATOMIC_RELAXED);
  count(page()->counters.no_credit);
}

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
// Whether the handler returns is not known before it does. A match that was made before counts:
// the thread stood at its access then.
void pause_is_interrupted(Thread& self) {
  const Inside inside(&self);
  const Locked locked(state_lock);
  for (Pause& pause : pauses)
    if (pause.active && pause.thread == self.common.number) pause.interrupted = true;
}

void pause_is_left(Thread& self) {
  const Inside inside(&self);
  const Locked locked(state_lock);
  for (Pause& pause : pauses) {
    if (!pause.active || pause.thread != self.common.number) continue;
    pause.active = false;
    Job& job = jobs[&pause - pauses];
    if (job.active && job.serial == pause.serial && !pause.matched)
      answer(job, DHV_OUTCOME_EXPIRED, {pause.role, pause.kernel_id, 0, pause.bytes});
  }
  self.waits = false;
}

void jobs_after_fork(Thread& self) {
  for (Job& job : jobs) job = {};
  for (Pause& pause : pauses) pause = {};
  production_work = 0;
  self.wakes = 0;
  self.waits = false;
  watches_after_fork(self);
  budget_start();
}

}  // namespace deadheat::runtime
