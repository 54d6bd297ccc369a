// A strategy chooses which thread runs next. All of its randomness comes from one seed.
#pragma once

#include "abi/trial.h"
#include "runtime/schedule/schedule.h"

namespace deadheat::runtime {

inline constexpr size_t kMaxChoice = 4096;  // enabled threads considered

struct Choice {
  Thread* threads[kMaxChoice];
  size_t count = 0;
};

struct Strategy {
  const char* name;
  bool every_access;  // may switch at each instrumented access
  void (*start)(uint64_t seed);
  // Returns one of `among`, which is not empty.
  Thread& (*choose)(const Choice& among, Thread& current);
  // The thread is before an access of the candidate. True: hold it back.
  bool (*arrives)(Thread& self);
};

bool every_access();  // of the strategy, or of the replayed one
const Strategy* find_strategy(const char* name);
extern const Strategy* strategy;

#define DEADHEAT_STRATEGY(name, object, chosen_by, meaning) extern const Strategy object;
DHT_STRATEGIES(DEADHEAT_STRATEGY)
#undef DEADHEAT_STRATEGY

// It yields, or comes to the same point repeatedly: others must run, or it may do so for ever.
bool spins(const Thread& current);

// The followed log's answer where chance decides (which thread is released or woken).
Thread& replay_one(const Choice& among);
bool replays_spurious();  // for the current wait

// Line 2 of the paper's Algorithm 2. If both are atomic, or both acquire a lock: not a data race,
// but an order to try.
inline bool would_race(const Next& a, const Next& b) {
  return a.object < b.object + b.size && b.object < a.object + a.size &&
         (a.write || b.write || (a.lock && b.lock));
}

// Numbers from the trial's seed (splitmix64).
uint64_t random_number();
uint64_t random_below(uint64_t bound);
bool coin();
void seed_numbers(uint64_t seed);

// POSIX allows spurious wakeups. In every fourth trial one wait in sixteen has one: often enough to
// find an `if` that should be a `while`, while three quarters of the trials show only libc's
// behaviour.
bool wakes_spuriously();

inline Thread& random_thread(const Choice& among) {
  return *among.threads[among.count == 1 ? 0 : random_below(among.count)];
}
inline Thread& one_of(const Choice& among) {
  return strategy == &replay ? replay_one(among) : random_thread(among);
}

}  // namespace deadheat::runtime
