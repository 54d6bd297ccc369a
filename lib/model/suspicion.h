// Suspicion: why a finder believes that a candidate may race, without having seen it happen. A
// prediction from a trace, a static analysis, somebody's list.
//
// A suspicion never moves a verdict: evidence does. Its id makes it a set element, as with
// evidence.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "lib/model/evidence.h"

namespace deadheat::model {

struct Suspicion {
  std::string id;                     // unique for ever: "<what was read>/<finder>/<number>"
  std::string finder;                 // "hybrid", "orders", "scan"
  std::string input;                  // what it was read from: digest of a trace or of a program
  std::string why;                    // the reason, in a sentence
  std::vector<Access> accesses = {};  // [i] is role i's: locks held, call path, an example
  std::vector<Step> steps = {};       // the execution that it was predicted from, for the picture
  Schedulable schedulable = Schedulable::kUnknown;
  std::string repeat = {};  // the command that finds it again
  friend bool operator==(const Suspicion&, const Suspicion&) = default;
  friend auto operator<=>(const Suspicion&, const Suspicion&) = default;
};

}  // namespace deadheat::model
