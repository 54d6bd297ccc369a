// Which code of a module may stand for sites: the way back from a site to machine addresses, where
// nothing but debug information says it.
//
// Of the same build (build-id) the pcs are taken. Of another one, an instrumented build say, the
// source line is; where there is no line, the whole function of that name. Too much is chosen
// rather than too little: it only says where to look first.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::places {

// Begin and end, as offsets in the module.
std::vector<std::pair<uint64_t, uint64_t>> code_of_sites(std::span<const model::Site> sites,
                                                         const symbols::ElfImage& image);

}  // namespace deadheat::places
