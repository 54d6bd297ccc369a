// Where other finders' candidates lie in the running kernel: as suspects.h has it for programs. By
// address where the build is the same, else the whole function of that name.
#pragma once

#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/code/code_list.h"
#include "lib/sampler/kernel/kernel_symbols.h"

namespace deadheat::sampler {

// `build_id`: of the running kernel; empty where it is not known.
std::vector<AddressRange> suspects_in_kernel(const model::FindingsFile& file,
                                             const KernelSymbols& symbols,
                                             const std::string& build_id);

}  // namespace deadheat::sampler
