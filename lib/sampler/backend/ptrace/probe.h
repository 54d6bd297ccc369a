// Whether programs can be watched on this machine.
#pragma once

#include <optional>
#include <string>

namespace deadheat::sampler {

// Nothing if a child could be traced and given a watchpoint; otherwise what is missing.
std::optional<std::string> watch_problem();

}  // namespace deadheat::sampler
