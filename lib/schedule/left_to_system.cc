#include "lib/schedule/left_to_system.h"

#include <charconv>

#include "lib/base/text.h"

namespace deadheat::schedule {
namespace {

// Parses the part after the colon: "calls ..., left to the system: read 3, poll 1".
void add_calls(std::string_view meaning, std::map<std::string, uint64_t>& calls) {
  const size_t colon = meaning.find(": ");
  if (colon == std::string_view::npos) return;
  for (std::string_view one : split(meaning.substr(colon + 2), ',')) {
    if (one.starts_with(' ')) one.remove_prefix(1);
    const size_t space = one.rfind(' ');
    uint64_t count = 0;
    if (space == std::string_view::npos ||
        std::from_chars(one.data() + space + 1, one.data() + one.size(), count).ec != std::errc())
      continue;
    calls[std::string(one.substr(0, space))] += count;
  }
}

}  // namespace

void LeftToSystem::add(const Counters& of_trial) {
  bool any = false;
  for (const Counter& counter : of_trial) {
    if (counter.value == 0) continue;
    if (counter.name == "outside") {
      outside_ += counter.value;
      add_calls(counter.meaning, calls_);
    } else if (counter.name == "uncontrolled") {
      uncontrolled_ += counter.value;
    } else if (counter.name == "signals") {
      signals_ += counter.value;
    } else {
      if (counter.is_loss) {
        Counter& sum = losses_[counter.name];
        sum = {counter.name, sum.value + counter.value, counter.meaning, true};
      }
      continue;
    }
    any = true;
  }
  trials_ += any ? 1 : 0;
}

void LeftToSystem::append_to(Counters& counters) const {
  std::string outside = "calls that wait for the world were left to the system";
  for (const auto& [name, count] : calls_)
    outside += (name == calls_.begin()->first ? ": " : ", ") + name + " " + std::to_string(count);
  counters.push_back({"trials_outside", trials_,
                      "trials in which something was left to the system: they may not repeat",
                      true});
  counters.push_back({"outside", outside_, outside, true});
  counters.push_back({"uncontrolled", uncontrolled_,
                      "times that a thread ran for long beside the scheduled one", true});
  counters.push_back(
      {"signals", signals_, "signal handlers ran in trials: when, the system decided", true});
  for (const auto& [name, loss] : losses_) counters.push_back(loss);
}

}  // namespace deadheat::schedule
