// Summarises the trials of validation (lib/validate) in sentences: which orders occurred and how,
// why it is likely no race, or why nothing is known.
#pragma once

#include <string>

#include "lib/model/finding.h"

namespace deadheat::report {

struct Validation {
  std::string trials;   // all in one sentence; empty: it was not validated
  std::string against;  // why it is likely no race: "synchronised: ..."; empty: no indication
};

Validation validation_of(const model::Finding& finding);

}  // namespace deadheat::report
