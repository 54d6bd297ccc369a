#include "runtime/validate/job_table.h"

#include "runtime/validate/infer.h"
#include "runtime/validate/order.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

uint32_t production_work;
uint32_t stretch;
Job jobs[DHV_JOBS];

namespace {

// There is no watch without an active job, so a result always has a validator to go to.
void count_active() {
  uint32_t active = 0;
  for (const Job& job : jobs) active += job.active ? 1 : 0;
  if (active != 0 && production_work == 0) __atomic_add_fetch(&stretch, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&production_work, active, __ATOMIC_SEQ_CST);
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

}  // namespace

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

// A job may be over before its validator has set the bits of its sites, and the validator killed
// before it takes them back. A job that is placed meanwhile is seen: its serial is written before
// its bits are.
void leave_if_unnamed(uint32_t site) {
  for (const Job& job : jobs)
    if (job.active && (job.sites[0] == site || job.sites[1] == site)) return;
  remove_state(site, DHV_STATE_JOB);
  take_jobs();
}

}  // namespace deadheat::runtime
