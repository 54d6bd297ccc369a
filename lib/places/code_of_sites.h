// Maps sites back to the machine code of a module, using debug information only.
//
// For the same build (build-id) the pcs are used. For another one, such as an instrumented build,
// the source line is used; without a line, the whole function of that name. The result is rather
// too large than too small: it only says where to look first.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::places {

// Pairs of begin and end, as offsets in the module.
std::vector<std::pair<uint64_t, uint64_t>> code_of_sites(std::span<const model::Site> sites,
                                                         const symbols::ElfImage& image);

}  // namespace deadheat::places
