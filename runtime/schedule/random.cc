// The strategies without a plan: random (any enabled thread, at every point) and serial (no
// interruption; when a thread blocks, the oldest continues).
#include "runtime/schedule/release.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

uint64_t state;

Thread& choose_random(const Choice& among, Thread&) { return random_thread(among); }

Thread& choose_same(const Choice& among, Thread& current) {
  size_t after = 0;  // the one after it: each gets its turn while others spin
  const bool goes_on = !spins(current);
  for (size_t i = 0; i < among.count; ++i) {
    if (among.threads[i] == &current && goes_on) return current;
    if (among.threads[i]->common.number <= current.common.number) after = i + 1;
  }
  return *among.threads[after < among.count ? after : 0];
}

bool never(Thread&) { return false; }

}  // namespace

bool spins(const Thread& current) {
  constexpr uint32_t kSpins = 100;
  static Address last_pc, last_object;
  static uint32_t times;
  if (current.next.point == Point::kYield || current.next.point == Point::kSleep) return true;
  const bool same = current.next.pc == last_pc && current.next.object == last_object;
  times = same ? times + 1 : 0;
  last_pc = current.next.pc;
  last_object = current.next.object;
  return times > 0 && times % kSpins == 0;
}

bool wakes_spuriously() {
  if (is_released()) return false;
  if (strategy == &replay) return replays_spurious();
  return strategy != &serial && trial().seed % 4 == 3 && random_below(16) == 0;
}

uint64_t random_number() {
  uint64_t value = state += 0x9e3779b97f4a7c15ULL;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
  return value ^ value >> 31;
}

uint64_t random_below(uint64_t bound) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(random_number()) * bound >> 64);
}

bool coin() { return random_number() >> 63 != 0; }

void seed_numbers(uint64_t seed) { state = seed * 0xd1342543de82ef95ULL + 1; }

const Strategy random_walk = {"random", true, seed_numbers, choose_random, never};
const Strategy serial = {"serial", false, seed_numbers, choose_same, never};

}  // namespace deadheat::runtime
