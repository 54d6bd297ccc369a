// Trial: one attempt to realise a candidate in one order. What was asked for; evidence says what
// came of it.
//
// Evidence that an engine read off a trace has no trial: nobody tried anything, it was only
// watched.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "lib/model/reproducer.h"

namespace deadheat::model {

// Which of the roles came first. Primary is the order in which the candidate names them.
enum class Order : uint8_t { kUnknown, kPrimary, kAlternate, kCount };

struct Trial {
  std::string confirmer;  // who tried: "schedule", "validate", "branch", "watch"
  Order wished = Order::kUnknown;
  uint64_t patience_ns =
      0;  // how long a thread was held back for the wished order; 0: not applicable
  Reproducer reproducer = {};  // what a replay needs
  friend bool operator==(const Trial&, const Trial&) = default;
  friend auto operator<=>(const Trial&, const Trial&) = default;
};

}  // namespace deadheat::model
