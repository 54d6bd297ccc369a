// pct: probabilistic concurrency testing. Threads get random priorities, and the highest enabled
// one runs; at depth - 1 random points of the execution the running one falls below all others. A
// thread that only spins (yields, or comes to the same point repeatedly) falls too; otherwise the
// thread that it waits for would never run.
//
// pos: partial order sampling. Every event gets a random priority, and the highest enabled one
// happens; then those that conflict with it get new ones.
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

constexpr uint64_t kHigh = uint64_t{1} << 40;  // above all lowered priorities
constexpr size_t kMaxDepth = 64;

uint64_t changes[kMaxDepth];
size_t change_count;
uint64_t lowest;

void fall(Thread& thread) { thread.priority = --lowest; }

void start_pct(uint64_t seed) {
  seed_numbers(seed);
  lowest = kHigh - 1;
  const uint64_t depth = trial().depth == 0 ? 3 : trial().depth;
  const uint64_t length = trial().length == 0 ? 1000 : trial().length;
  change_count = 0;
  for (uint64_t i = 1; i < depth && change_count < kMaxDepth; ++i)
    changes[change_count++] = 1 + random_below(length);
}

const Thread* highest(const Choice& among) {
  const Thread* best = among.threads[0];
  for (size_t i = 1; i < among.count; ++i)
    if (among.threads[i]->priority > best->priority) best = among.threads[i];
  return best;
}

Thread& best_of(const Choice& among) {
  for (size_t i = 0; i < among.count; ++i)
    if (among.threads[i]->priority == 0) among.threads[i]->priority = kHigh + random_number() / 4;
  return const_cast<Thread&>(*highest(among));
}

Thread& choose_pct(const Choice& among, Thread& current) {
  if (spins(current)) fall(current);
  for (size_t i = 0; i < change_count; ++i)
    if (changes[i] == decisions) fall(best_of(among));
  return best_of(among);
}

bool conflicts(const Next& a, const Next& b) {
  if (a.object != b.object) return false;
  const bool plain = a.point == Point::kAccess && b.point == Point::kAccess;
  return !plain || a.write || b.write;
}

Thread& choose_pos(const Choice& among, Thread& current) {
  if (spins(current)) current.priority = 1 + random_below(kHigh);
  Thread& best = best_of(among);
  for (size_t i = 0; i < among.count; ++i) {
    Thread& other = *among.threads[i];
    if (&other != &best && conflicts(other.next, best.next)) other.priority = 0;
  }
  best.priority = 0;  // its next event is a new one
  return best;
}

bool never(Thread&) { return false; }

}  // namespace

const Strategy pct = {"pct", true, start_pct, choose_pct, never};
const Strategy pos = {"pos", true, seed_numbers, choose_pos, never};

}  // namespace deadheat::runtime
