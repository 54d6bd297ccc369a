// The decision log (abi/trial.md): written during the trial, in pages that survive it.
#pragma once

#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

struct Decision {
  uint64_t place = 0;  // module id << 48 | offset
  uint64_t object = 0;
  uint16_t thread = 0, chosen = 0;
  uint8_t kind = 0, enabled = 0;
  uint16_t flags = 0;
};
static_assert(sizeof(Decision) == 24);

void start_decision_log();
void stop_decision_log();  // a forked child must not write to its parent's
void log_decision(const Thread& self, const Thread& chosen, size_t enabled);
uint64_t decisions_unlogged();
uint64_t place_of(Address pc);

// The log to follow; null past its end. Logged decisions are compared with it.
const Decision* followed_decision(uint64_t index);
uint64_t next_decision();  // index of the next record
bool has_diverged();       // or there is nothing to follow

}  // namespace deadheat::runtime
