// RaceFuzzer (its Algorithms 1 and 2): a thread that comes to a statement of the candidate is held
// back until another comes to one and the two would race; then chance decides who goes first.
//
// What the paper calls postponed is held_back here. schedule.cc lets a random one go when nobody
// else can run (line 26), and one that was held back for too long (the livelock breaker of its
// section 4).
#include "runtime/schedule/report.h"
#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

namespace {

// Those who were chosen to go first: each does its one access before anything else happens.
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
  // The paper switches with every choice. In a program that takes a million locks the switches
  // would
  // be all that the trial does: past the first ten thousand, most of the time the same thread goes
  // on.
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
  // A site that is passed tens of thousands of times, mostly in vain, would be all that the trial
  // does: one in eight is held back from then on.
  constexpr uint64_t kMostHeldBack = 10000, kThen = 8;
  if (count == 0) return counts.held_back < kMostHeldBack || random_below(kThen) == 0;
  bool self_first = coin();
  if (self.next.done) self_first = true;
  for (size_t i = 0; i < count; ++i)
    if (racing[i]->next.done) self_first = false;
  for (size_t i = 0; i < count; ++i) report_race(self, *racing[i], self_first);
  if (self_first) {
    // The paper keeps the others back until somebody else races with them. With a coin they may
    // come in between what this thread does next: a check and its use, say.
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
