// The vocabulary of a trial request (trial.md). The host (lib/schedule/trial_request.cc) writes it,
// runtime/schedule reads it, and tools/abi_pages generates the page's tables from the text here.
#ifndef DEADHEAT_ABI_TRIAL_H_
#define DEADHEAT_ABI_TRIAL_H_

#define DHT_FIRST_LINE "deadheat-trial 1"

// X(name, object, chosen_by, meaning). `object` is the runtime's `const Strategy`
// (runtime/schedule/strategy.h). chosen_by: user if users may name it, host if only the host does.
// clang-format off
#define DHT_STRATEGIES(X) \
  X(race_directed, race_directed, user, "holds threads back at the candidate's sites") \
  X(random, random_walk, user, "any thread, at each point") \
  X(pct, pct, user, "priorities that change at few points") \
  X(pos, pos, user, "priorities that are drawn anew for accesses that race") \
  X(serial, serial, host, "nobody is interrupted") \
  X(replay, replay, host, "as the log that `follow` names; one that diverged goes on with `random`")

// X(key, type, values, meaning). Types: number, text (the rest of the line), flag (1), site.
#define DHT_KEYS(X) \
  X(strategy, text, "NAME", "STRATEGIES") \
  X(seed, number, "N", "all choices come from it") \
  X(depth, number, "N", "pct: its depth") \
  X(length, number, "N", "pct: how many points an earlier run had") \
  X(site, site, "ROLE OFFSET BUILD_ID PATH", "a pc of the candidate's role 0 or 1: file address (hex) within the call of the hook, as in findings; build id or `-`") \
  X(decisions, text, "PATH", "the log of decisions is written there") \
  X(follow, text, "PATH", "replay: the log to follow") \
  X(cpu, number, "N", "the processor to run on (all threads on one); without it, the one that it starts on") \
  X(spins, flag, "1", "the program waits in loops of plain reads: their hooks stay on, and a thread that reads the same places a hundred times yields") \
  X(patience, number, "N", "after N ms of its life the trial lets every thread go: none is held back, accesses are no points, threads take turns, time passes; without it, never") \
  X(grace, number, "N", "ms after that, of those in which a processor was to be had; a program that is not over then hangs") \
  X(stop_at_race, flag, "1", "raise SIGTRAP where the race stands (for gdb)")
// clang-format on

#endif  // DEADHEAT_ABI_TRIAL_H_
