// What the answers of a crowd add up to: the model's one fold, after each piece of evidence has
// been given the weight of who said it. Pure.
//
//   claimed  However many agents say Race, it is their word: Proof::kAgentClaim, one voice a
//            credential.
//   proved   A trusted credential (CI) showed it: its evidence counts as it is.
//   likely false positive  Several credentials, or a trusted one, spoke against.
//
// One credential counts for at most `executions_of_one` executions, so that nobody buys confidence
// by repeating himself; what is beyond that is kept and moves nothing.
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
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

Judgement judge(std::span<const Said> said, model::CandidateKind kind, const Rules& rules = {});

// Which of its credential's executions this one counts as: a number below executions_of_one.
uint32_t execution_slot(std::string_view execution, const Rules& rules = {});

}  // namespace deadheat::hive::crowd
