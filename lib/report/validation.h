// What the trials of validation (lib/validate) say together, in sentences: which orders came about
// and how, why it is likely no race, or why nothing is known.
#pragma once

#include <string>

#include "lib/model/finding.h"

namespace deadheat::report {

struct Validation {
  std::string trials;   // all of it in one sentence; empty: it was not validated
  std::string against;  // why it is likely no race: "synchronised: ..."; empty: nothing says so
};

Validation validation_of(const model::Finding& finding);

}  // namespace deadheat::report
