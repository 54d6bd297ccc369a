// What a replay answers to calls that bring something in: recorded randomness as it was, clocks as
// recorded but moved to now.
//
// Files that a replay writes get today's times; a program that was told last week's date would see
// files from the future (make warns, and builds again). So recorded clock values are shifted by the
// time between the two starts, and never lie behind the real clock: differences between readings
// stay as recorded while the replay keeps up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lib/process/event.h"

namespace deadheat::process {

int64_t real_time_ns();
std::optional<std::pair<int64_t, std::string>> recorded_input(const Event& event, int64_t shift_ns);

}  // namespace deadheat::process
