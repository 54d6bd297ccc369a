// A thread that is stopped by our scheduler does not hang. So a trial that has not ended after its
// `patience` releases all threads: none is held back any more, accesses are no longer points,
// threads take turns as on one fair processor, and time passes at least as fast as real time. A
// program that ends now did not hang. A program that continues for its `grace` hangs by itself, and
// a hang is reported only if each runnable thread had its turns meanwhile. Otherwise the scheduler
// may be the cause and reports nothing; the host ends the trial, which is then inconclusive.
//
// Events after the release do not repeat: it begins at a time, not at a decision.
#include "runtime/schedule/release.h"

#include "runtime/schedule/report.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kMostOfALook_ns = 20 * kMillisecond;  // looks come every 10 ms, later under load

bool everybody_goes;
uint64_t started_ns, looked_ns;
uint64_t free_ns;    // since the release, excluding time without a processor
uint64_t holder_ns;  // processor time of the holder at the last look

uint64_t wall_ns() {
  timespec time = {};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void release() {
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    let_go(*thread);
    thread->turns = 0;
  }
  __atomic_store_n(&everybody_goes, true, __ATOMIC_RELAXED);
  report_released();
}

// Who runs waits for a processor: the machine is busy, and this is not the program's time.
bool is_starved() {
  if (holder == nullptr) return false;
  const uint64_t used = used_ns(holder->common.kernel_id);
  const bool ran = used != holder_ns;
  holder_ns = used;
  return !ran && state_of(holder->common.kernel_id) == 'R';
}

bool all_had_turns() {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kReady && thread->turns == 0) return false;
  return true;
}

}  // namespace

bool is_released() { return __atomic_load_n(&everybody_goes, __ATOMIC_RELAXED); }

void start_release_clock() { started_ns = wall_ns(); }

Thread& fair_choice(const Choice& among, Thread& current) {
  constexpr uint32_t kPointsOfATurn = 32;
  static uint32_t points;
  size_t after = 0;
  const bool goes_on = !spins(current) && ++points < kPointsOfATurn;
  for (size_t i = 0; i < among.count; ++i) {
    if (among.threads[i] == &current && goes_on) return current;
    if (among.threads[i]->common.number <= current.common.number) after = i + 1;
  }
  points = 0;
  return *among.threads[after < among.count ? after : 0];
}

void look_at_the_time() {
  if (trial().patience == 0) return;
  const uint64_t now = wall_ns();
  if (!everybody_goes) {
    if (now - started_ns >= trial().patience * kMillisecond) release();
    looked_ns = now;
    return;
  }
  const uint64_t passed = now - looked_ns;
  looked_ns = now;
  __atomic_fetch_add(&virtual_ns, passed, __ATOMIC_RELAXED);
  if (!is_starved()) free_ns += passed < kMostOfALook_ns ? passed : kMostOfALook_ns;
  if (free_ns >= trial().grace * kMillisecond && all_had_turns()) report_hang();
}

}  // namespace deadheat::runtime
