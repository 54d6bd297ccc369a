// Suspicion: why a finder believes that a candidate may race without having seen it happen: a
// prediction from a trace, a static analysis, a user's list.
//
// A suspicion never changes a verdict; only evidence does. Like evidence, it is a set element with
// an id.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "lib/model/evidence.h"

namespace deadheat::model {

struct Suspicion {
  std::string id;                     // globally unique: "<what was read>/<finder>/<number>"
  std::string finder;                 // "hybrid", "orders", "scan"
  std::string input;                  // what it was derived from: digest of a trace or of a program
  std::string why;                    // the reason, in a sentence
  std::vector<Access> accesses = {};  // [i] is role i's: locks held, call path, an example
  std::vector<Step> steps = {};       // the execution that it was predicted from, for the picture
  Schedulable schedulable = Schedulable::kUnknown;
  std::string repeat = {};  // the command that finds it again
  friend bool operator==(const Suspicion&, const Suspicion&) = default;
  friend auto operator<=>(const Suspicion&, const Suspicion&) = default;
};

}  // namespace deadheat::model
