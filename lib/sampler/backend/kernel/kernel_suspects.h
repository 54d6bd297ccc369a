// The places of other finders' candidates in the running kernel (suspects.h does this for
// programs): by address for the same build, otherwise the whole function of that name.
#pragma once

#include <string>
#include <vector>

#include "lib/model/finding.h"
#include "lib/sampler/backend/kernel/kernel_symbols.h"
#include "lib/sampler/code/code_list.h"

namespace deadheat::sampler {

// `build_id`: of the running kernel; empty if unknown.
std::vector<AddressRange> suspects_in_kernel(const model::FindingsFile& file,
                                             const KernelSymbols& symbols,
                                             const std::string& build_id);

}  // namespace deadheat::sampler
