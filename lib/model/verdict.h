// Verdict: what a candidate's evidence so far adds up to. A pure fold: no order, no history, no clock.
//
// RaceMob's state machine (racemob.txt 3.4, Figure 4) with one correction: an order counts towards True race only
// if no happens-before edge lay between the accesses; a locked pair seen in both orders is NoRace.
// Tests hold this fold equal to that machine for every sequence of results.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/model/evidence.h"

namespace deadheat::model {

enum class VerdictState : uint8_t { kUnknown, kTrueRace, kLikelyFalsePositive, kCount };

// On what a True race rests. Claimed: only an agent's word. Proved: an execution that we saw ourselves.
enum class Basis : uint8_t { kNone, kClaimed, kProved, kCount };

struct Verdict {
  VerdictState state = VerdictState::kUnknown;
  Basis basis = Basis::kNone;
  Consequence consequence;          // the most severe of the evidence that counts
  // kTrueRace proved: 1. kLikelyFalsePositive: lower bound on P(no race in one more execution) with 95%
  // confidence, by the rule of three over distinct executions. Otherwise 0.
  double confidence = 0;
  uint32_t races = 0, no_races = 0, timeouts = 0, not_seen = 0, diverged = 0, withdrawn = 0;
  uint32_t executions = 0;          // distinct ones among the evidence that counts
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict fold(std::span<const Evidence> evidence);

}  // namespace deadheat::model
