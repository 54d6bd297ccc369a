// Builtin: determines what the single atomic builtin of a line accesses, as in
// "__atomic_store_n(&table->slots[i], v, ORDER)".
//
// Besides its target a line has other accesses: of the pointer, an index, or the stored value.
// Nothing is resolved; a line is accepted only if the target cannot be one of those.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/symbols/frame.h"

namespace deadheat::sampler {

// `accessed`: the accessed variable, if it has a name. `column`: the number of tokens on the line
// before the position that the line table gives for the access.
bool is_argument_of_builtin(const std::vector<std::string_view>& tokens,
                            const std::optional<symbols::GlobalName>& accessed, size_t column);

// The last name in "bank::accounts[3].balance".
std::string_view last_name(std::string_view text);

}  // namespace deadheat::sampler
