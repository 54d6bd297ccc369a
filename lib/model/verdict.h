// Verdict: what a candidate's evidence so far adds up to. A pure fold: no order, no history, no
// clock.
//
// RaceMob's state machine (section 3.4 and Figure 4 of its paper) with one correction: an order
// counts towards True race only if no happens-before edge lay between the accesses; a locked pair
// seen in both orders is NoRace. verdict_test.cc holds this fold equal to that machine for every
// short sequence of results.
//
// What moves a verdict, for data races and collisions:
//   True race             Race with no edge between the accesses: stated (ordered = no) or implied
//   by the proof.
//                         Not enough: both orders with nothing known about edges; happens-before
//                         evidence that SHB calls not schedulable (it may be an artefact of an
//                         earlier race); for a collision candidate, a collision of which one side
//                         may have been atomic.
//   Likely false positive NoRace, Race with an edge between, Timeout at the maximum, or the wished
//   order infeasible;
//                         and no True race.
//   Nothing               Timeout below the maximum, NotSeen, Diverged uncontrolled, Deadlock (it
//   is a consequence).
//                         Happens-before that we saw only in part is a sighting: code that was not
//                         instrumented may have ordered the accesses.
// kOrder and the process kinds: both orders are legal in themselves, so only an order that fails,
// and fails again, makes a True race. An infeasible order counts like NoRace although the other
// order stays possible: what can happen in one order only is ordered by something, even if not by
// an edge we know. It is one execution's word, hence "likely".
//
// Harm needs more than one execution: a consequence counts only if executions in which the
// candidate happened showed its kind twice (replaying a seed is a second execution), or if the
// evidence says that it stands for several runs. What was seen once is kept apart and is no harm.
// kFailure: a failure that happened under some schedule is true at once, and harm when it was
// seen again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/model/evidence.h"

namespace deadheat::model {

enum class VerdictState : uint8_t { kUnknown, kTrueRace, kLikelyFalsePositive, kCount };

// On what a True race rests, weakest first.
enum class Basis : uint8_t {
  kNone,
  kClaimed,       // somebody's word
  kObserved,      // unordered by happens-before in an execution that we saw completely enough
  kMadeToHappen,  // a confirmer put both sides there: co-enabled under our scheduler, a failed
                  // branch, a watchpoint collision of plain accesses
  kCount
};

// What a race would rest on that was shown in this way.
Basis basis_of(Proof proof);

struct Verdict {
  VerdictState state = VerdictState::kUnknown;
  Basis basis = Basis::kNone;
  // The harm: the most severe that two executions or more showed among those where the candidate
  // happened or its trial deadlocked. kNone: no harm.
  Consequence consequence;
  Basis consequence_basis = Basis::kNone;  // the best among those executions
  uint32_t consequence_executions = 0;     // how many showed a consequence of that kind
  // Seen once and not repeated: the most severe such one, if it is worse than the harm.
  Consequence seen_once;
  // kTrueRace observed or made to happen: 1. Claimed: 1 - 2^-n for n distinct sources (each as good
  // as a coin), at most 0.999. kLikelyFalsePositive: lower bound on P(no race in one more
  // execution) with 95% confidence, by the rule of three over the n distinct executions that spoke
  // against: 1 - 3/n, at least 0. kUnknown: 0.
  double confidence = 0;
  uint32_t races = 0, no_races = 0, timeouts = 0, not_seen = 0, deadlocks = 0, diverged = 0;
  uint32_t withdrawn = 0;  // evidence that is there and withdrawn; counted nowhere else
  uint32_t conflicts = 0;  // ids that stand for more than one content; the least of them is taken
  uint32_t executions =
      0;  // distinct ones among the evidence that moved the verdict or was a sighting
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict fold(std::span<const Evidence> evidence, CandidateKind kind = CandidateKind::kDataRace);

}  // namespace deadheat::model
