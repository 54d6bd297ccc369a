// Trial: one attempt to make a candidate happen in one order. It holds the request; evidence holds
// the result.
//
// Evidence that an engine derived from a trace has no trial, because the execution was only
// observed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "lib/model/reproducer.h"

namespace deadheat::model {

// Which of the roles came first. Primary is the order in which the candidate names them.
enum class Order : uint8_t { kUnknown, kPrimary, kAlternate, kCount };

struct Trial {
  std::string confirmer;  // the confirmer that tried: "schedule", "validate", "branch", "watch"
  Order wished = Order::kUnknown;
  uint64_t patience_ns =
      0;  // how long a thread was held back to get the requested order; 0: not applicable
  Reproducer reproducer = {};  // what a replay needs
  friend bool operator==(const Trial&, const Trial&) = default;
  friend auto operator<=>(const Trial&, const Trial&) = default;
};

}  // namespace deadheat::model
