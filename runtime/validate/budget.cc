#include "runtime/validate/budget.h"

#include "runtime/validate/jobs.h"
#include "runtime/validate/page.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000, kMillion = 1'000'000;

uint64_t start_ns, start_cycles;
uint64_t wait_ns, slow_cycles;

// For all threads together, relative to elapsed time: a program with many threads gets no more.
uint64_t spent_ns(uint64_t now) {
  const uint64_t passed_cycles = cycles() - start_cycles, passed_ns = now - start_ns;
  const double per_cycle =
      passed_cycles == 0 ? 0 : static_cast<double>(passed_ns) / static_cast<double>(passed_cycles);
  const auto slow = static_cast<uint64_t>(
      static_cast<double>(__atomic_load_n(&slow_cycles, __ATOMIC_RELAXED)) * per_cycle);
  __atomic_store_n(&page()->counters.slow_ns, slow, __ATOMIC_RELAXED);
  return slow + __atomic_load_n(&wait_ns, __ATOMIC_RELAXED);
}

bool within_share(uint64_t more_ns) {
  const uint64_t share = __atomic_load_n(&page()->budget_ppm, __ATOMIC_RELAXED);
  const uint64_t now = now_ns(), spent = spent_ns(now);
  return share == 0 || share >= kMillion || spent + more_ns <= (now - start_ns) / kMillion * share;
}

}  // namespace

void budget_start() {
  start_ns = now_ns();
  start_cycles = cycles();
  wait_ns = slow_cycles = 0;
}

bool may_work() { return within_share(0); }

bool charge_wait(Thread& self, uint32_t tau_us) {
  const uint64_t standstill = __atomic_load_n(&page()->standstill_us, __ATOMIC_RELAXED);
  const uint64_t now = now_ns();
  if (now - self.second_ns >= kSecondNs) {
    self.second_ns = now;
    self.stood_us = 0;
  }
  if (standstill != 0 && uint64_t{self.stood_us} + tau_us > standstill) return false;
  if (!within_share(uint64_t{tau_us} * 1000)) return false;
  self.stood_us += tau_us;
  __atomic_fetch_add(&wait_ns, uint64_t{tau_us} * 1000, __ATOMIC_RELAXED);
  return true;
}

void give_back(Thread& self, uint32_t charged_us, uint64_t used_ns) {
  const uint64_t charged_ns = uint64_t{charged_us} * 1000;
  __atomic_fetch_add(&wait_ns, used_ns - charged_ns, __ATOMIC_RELAXED);
  const auto used_us = static_cast<uint32_t>(used_ns / 1000);
  self.stood_us += used_us - charged_us;
}

void charge_slow(uint64_t spent) { __atomic_fetch_add(&slow_cycles, spent, __ATOMIC_RELAXED); }

}  // namespace deadheat::runtime
