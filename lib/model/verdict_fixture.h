// Shorthand for evidence in the tests of the fold.
#pragma once

#include <string>
#include <utility>

#include "lib/model/evidence.h"

namespace deadheat::model {

inline Evidence race(std::string id, Ordered ordered, Proof proof = Proof::kNone) {
  Evidence e;
  e.id = std::move(id);
  e.execution = e.id;
  e.outcome = Outcome::kRace;
  e.proof = proof;
  e.ordered = ordered;
  return e;
}

inline Evidence result(std::string id, Outcome outcome) {
  Evidence e;
  e.id = std::move(id);
  e.execution = e.id;
  e.outcome = outcome;
  return e;
}

inline Evidence withdrawal(std::string id, std::string of) {
  Evidence e;
  e.id = std::move(id);
  e.withdraws = std::move(of);
  return e;
}

}  // namespace deadheat::model
