// Combines the answers of a crowd: the model's one fold, after weighting each piece of evidence by
// its sender. Pure.
//
//   claimed  However many agents say Race, it is their word: Proof::kAgentClaim, one voice a
//            credential.
//   proved   A trusted credential (CI) showed it: its evidence counts as it is.
//   likely false positive  Several credentials spoke against, and what they said weighs enough; or
//            a trusted one did.
//
// The evidence is weighed as a number of executions, for the rule of three: if a share q of all
// executions showed the race, n independent ones would all miss it with probability (1 - q)^n, so
// after n misses q < 3/n with 95% confidence. Not every NoRace is such an execution:
//   - Executions of one credential resemble each other (one machine, the same inputs and timing):
//     the first counts in full, each further one half, up to `executions_of_one` of them. So
//     repetition does not buy confidence. Machines are counted by credential because the hive
//     gives those out; an instance names itself.
//   - Strong: the second access came, ordered after the first. Weak: no second access came, or the
//     largest tau ran out. A weak one counts half: it also fits a race whose threads did not meet.
//   - Where both sites are known to have met at the same bytes (promoted, RaceMob 3.2.1), "no
//     second access came" only says that they did not meet this time, and counts an eighth.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/evidence.h"
#include "lib/model/verdict.h"

namespace deadheat::hive::crowd {

struct Rules {
  uint32_t against = 3;  // credentials, for Likely false positive
  uint32_t executions_of_one = 8;
  double repeated = 0.5;         // weight of a credential's executions after its first
  double weak = 0.5;             // of NoRace without a second access, and of the largest tau
  double weak_promoted = 0.125;  // of NoRace without a second access, where the sites have met
  // Likely false positive needs this confidence: six strong answers of six credentials. With three,
  // a race that one execution in ten shows would be called false in 73% of the cases; with six it
  // is 53%, and assign.h goes on asking at half the rate.
  double least_confidence = 0.5;
};

struct Said {
  model::Evidence evidence;
  std::string credential;
  bool trusted = false;
};

struct Judgement {
  model::Verdict verdict;
  bool proved = false;
  uint32_t claimed_by = 0;  // credentials that are not trusted and whose evidence alone says race
  uint32_t against = 0;     // credentials whose evidence alone says no race
  double weight = 0;        // of what they said, in executions
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

// `promoted`: the sites met at the same bytes somewhere. The confidence of Likely false positive is
// 1 - 3/weight: a lower bound on the chance that the next execution shows no race either.
Judgement judge(std::span<const Said> said, model::CandidateKind kind, bool promoted = false,
                const Rules& rules = {});

// The number of its credential's execution that this counts as: below executions_of_one.
uint32_t execution_slot(std::string_view execution, const Rules& rules = {});

}  // namespace deadheat::hive::crowd
