// /proc/PID/maps as modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/sampler/backend.h"

namespace deadheat::sampler {

// Files with executable mappings; their paths as this process can open them.
std::vector<LoadedModule> modules_in(const std::string& maps, int process);
uint64_t main_stack_end(const std::string& maps);  // 0 when it is not there

}  // namespace deadheat::sampler
