// replay: the decisions of an earlier trial, read back one by one. If the execution diverges it
// reports that (decision_log.cc) and continues at random.
#include "runtime/schedule/decision_log.h"
#include "runtime/schedule/report.h"

namespace deadheat::runtime {

namespace {

Thread* find(const Choice& among, uint16_t number) {
  for (size_t i = 0; i < among.count; ++i)
    if (among.threads[i]->common.number == number) return among.threads[i];
  return nullptr;
}

Thread& choose(const Choice& among, Thread&) {
  if (among.count == 1 && among.threads[0]->next.flags == 0) return *among.threads[0];
  const Decision* const next = has_diverged() ? nullptr : followed_decision(next_decision());
  Thread* const chosen = next == nullptr ? nullptr : find(among, next->chosen);
  return chosen == nullptr ? random_thread(among) : *chosen;
}

bool arrives(Thread& self) {
  const Decision* const next = has_diverged() ? nullptr : followed_decision(next_decision());
  if (next == nullptr) return false;
  const bool held = (next->flags & DHD_HELD_BACK) != 0;
  if ((next->flags & DHD_RACE) == 0) return held;
  const uint16_t others_go = next->flags & DHD_OTHERS_GO;
  self.next.flags |= others_go;
  for (Thread* other = threads; other != nullptr; other = other->next_thread) {
    if (other == &self || !other->held_back || !would_race(self.next, other->next)) continue;
    report_race(self, *other, !held);
    if (held || others_go != 0) let_go(*other);
  }
  return held;
}

}  // namespace

// A random choice is recorded in the next decision of the chosen thread.
Thread& replay_one(const Choice& among) {
  for (uint64_t i = next_decision(); !has_diverged(); ++i) {
    const Decision* const record = followed_decision(i);
    if (record == nullptr) break;
    if ((record->flags & (DHD_LET_GO | DHD_CHOSEN_TO_WAKE)) == 0) continue;
    if (Thread* const chosen = find(among, record->chosen)) return *chosen;
  }
  return random_thread(among);
}

bool replays_spurious() {
  const Decision* const next = has_diverged() ? nullptr : followed_decision(next_decision());
  return next != nullptr && (next->flags & DHD_SPURIOUS) != 0 &&
         next->kind == static_cast<uint8_t>(Point::kWait);
}

const Strategy replay = {"replay", false, seed_numbers, choose, arrives};

}  // namespace deadheat::runtime
