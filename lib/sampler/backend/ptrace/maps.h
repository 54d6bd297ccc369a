// /proc/PID/maps as modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/sampler/backend/backend.h"
#include "lib/sampler/backend/ptrace/mapped_files.h"

namespace deadheat::sampler {

// Files with executable mappings, as far as they are readable.
std::vector<LoadedModule> modules_in(const std::string& maps, MappedFiles& files);
uint64_t main_stack_end(const std::string& maps);  // 0 if absent

}  // namespace deadheat::sampler
