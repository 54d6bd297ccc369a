// Verdict: what a candidate's evidence so far adds up to. A pure fold: no order, no history, no
// clock.
//
// This is RaceMob's state machine (section 3.4 and Figure 4 of its paper) with one correction: an
// order counts towards True race only if no happens-before edge ordered the accesses; a locked pair
// seen in both orders is NoRace. verdict_test.cc checks that this fold equals that machine for
// every short sequence of results.
//
// What changes a verdict, for data races and collisions:
//   True race
//     - Race with no edge between the accesses: stated (ordered = no) or implied by the proof.
//     - Not sufficient: both orders with nothing known about edges; happens-before evidence that
//       SHB calls not schedulable (it may be an artefact of an earlier race); for a collision
//       candidate, a collision of which one side may have been atomic.
//   Likely false positive
//     - NoRace, Race with an edge between, Timeout at the maximum, or an infeasible requested
//       order; and no True race.
//   No change
//     - Timeout below the maximum, NotSeen, Diverged uncontrolled, Deadlock (a consequence).
//     - Partially seen happens-before: a sighting only, because code that was not instrumented may
//       have ordered the accesses.
// For kOrder and the process kinds both orders are legal in themselves, so only an order that
// fails, and fails again, makes a True race. An infeasible order counts like NoRace although the
// other order stays possible: if only one order can happen, something orders the pair, even if we
// know no edge for it. This is the result of one execution, hence "likely".
//
// Harm needs more than one execution: a consequence counts only if executions in which the
// candidate happened showed its kind twice (replaying a seed is a second execution), or if the
// evidence says that it summarizes several runs. A consequence seen once is kept separately and is
// not harm. kFailure: a failure that happened under some schedule is true at once, and is harm when
// it was seen again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/model/evidence.h"

namespace deadheat::model {

enum class VerdictState : uint8_t { kUnknown, kTrueRace, kLikelyFalsePositive, kCount };

// What a True race is based on, weakest first.
enum class Basis : uint8_t {
  kNone,
  kClaimed,       // an unproven statement
  kObserved,      // unordered by happens-before in an execution that we saw completely enough
  kMadeToHappen,  // a confirmer brought both sides there: co-enabled under our scheduler, a failed
                  // branch, a watchpoint collision of plain accesses
  kCount
};

// The basis of a race shown by this kind of proof.
Basis basis_of(Proof proof);

struct Verdict {
  VerdictState state = VerdictState::kUnknown;
  Basis basis = Basis::kNone;
  // The harm: the most severe consequence that at least two executions showed, among those in which
  // the candidate happened or its trial deadlocked. kNone: no harm.
  Consequence consequence;
  Basis consequence_basis = Basis::kNone;  // the strongest among those executions
  uint32_t consequence_executions = 0;     // how many showed a consequence of that kind
  // Seen once and not repeated: the most severe such consequence, if it is worse than the harm.
  Consequence seen_once;
  // kTrueRace observed or made to happen: 1. Claimed: 1 - 2^-n for n distinct sources (each worth a
  // coin toss), at most 0.999. kLikelyFalsePositive: lower bound on P(no race in one more
  // execution) with 95% confidence, by the rule of three over the n distinct executions that spoke
  // against it: 1 - 3/n, at least 0. kUnknown: 0.
  double confidence = 0;
  uint32_t races = 0, no_races = 0, timeouts = 0, not_seen = 0, deadlocks = 0, diverged = 0;
  uint32_t withdrawn = 0;  // evidence that is present but withdrawn; counted nowhere else
  uint32_t conflicts = 0;  // ids with more than one content; the least of them is used
  uint32_t executions =
      0;  // distinct ones among the evidence that changed the verdict or was a sighting
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict fold(std::span<const Evidence> evidence, CandidateKind kind = CandidateKind::kDataRace);

}  // namespace deadheat::model
