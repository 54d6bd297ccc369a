// RaceFuzzer (its Algorithms 1 and 2): a thread that comes to a statement of the candidate is held
// back until another comes to one and the two would race; then chance decides which goes first.
//
// The paper's "postponed" is held_back here. schedule.cc releases a random one when no other
// thread can run (line 26), and one that was held back too long (the livelock breaker of its
// section 4).
#include "runtime/schedule/report.h"
#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

namespace {

// Threads chosen to go first: each performs its access before anything else happens.
constexpr size_t kMaxForced = 256;
Thread* forced[kMaxForced];
size_t forced_count;

void start(uint64_t seed) {
  seed_numbers(seed);
  forced_count = 0;
}

Thread& choose(const Choice& among, Thread& current) {
  while (forced_count > 0) {
    Thread* const first = forced[0];
    --forced_count;
    for (size_t i = 0; i < forced_count; ++i) forced[i] = forced[i + 1];
    for (size_t i = 0; i < among.count; ++i)
      if (among.threads[i] == first) return *first;
  }
  // The paper may switch at every choice. In a program that acquires
  // a million locks, a trial would do little else than switch: after
  // the first ten thousand decisions, the same thread usually
  // continues.
  constexpr uint64_t kEager = 10000;
  if (decisions > kEager && random_below(4) != 0)
    for (size_t i = 0; i < among.count; ++i)
      if (among.threads[i] == &current) return current;
  return random_thread(among);
}

bool arrives(Thread& self) {
  Thread* racing[kMaxForced];
  size_t count = 0;
  for (Thread* other = threads; other != nullptr && count < kMaxForced; other = other->next_thread)
    if (other != &self && other->held_back && would_race(self.next, other->next))
      racing[count++] = other;
  // A site that is passed tens of thousands of times, mostly in vain, would take up the whole
  // trial: from then on one in eight arrivals is held back.
  constexpr uint64_t kMostHeldBack = 10000, kThen = 8;
  if (count == 0) return counts.held_back < kMostHeldBack || random_below(kThen) == 0;
  bool self_first = coin();
  if (self.next.done) self_first = true;
  for (size_t i = 0; i < count; ++i)
    if (racing[i]->next.done) self_first = false;
  for (size_t i = 0; i < count; ++i) report_race(self, *racing[i], self_first);
  if (self_first) {
    // The paper holds the others back until another thread races with them. With a coin they may
    // come between this thread's next actions: for example, a check and its use.
    if (!coin()) return false;
    for (size_t i = 0; i < count; ++i) let_go(*racing[i]);
    self.next.flags |= DHD_OTHERS_GO;
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    let_go(*racing[i]);
    if (forced_count < kMaxForced) forced[forced_count++] = racing[i];
  }
  return true;
}

}  // namespace

const Strategy race_directed = {"race_directed", false, start, choose, arrives};

}  // namespace deadheat::runtime
