// A counter that a result carries: how often something was lost, capped, skipped or seen.
// `name` is stable and machine-readable; `meaning` is the sentence a report prints beside a
// non-zero value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deadheat {

struct Counter {
  std::string name;
  uint64_t value = 0;
  std::string meaning;
  bool is_loss = true;  // false: a statistic; true: information that the result lacks
  // Counts work that was requested but not tried, as in "orders were not tried: no time left". Such
  // a result is incomplete, and the last line of a report says so.
  bool is_untried = false;

  friend bool operator==(const Counter&, const Counter&) = default;
};

using Counters = std::vector<Counter>;

}  // namespace deadheat
