// Builtin: what the one atomic builtin of a line accesses, as in
// "__atomic_store_n(&table->slots[i], v, ORDER)".
//
// Besides its target a line has other accesses: of the pointer, of an index, of the value that is
// stored. Nothing is resolved; only a line is taken on which the target cannot be one of those.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/symbols/frame.h"

namespace deadheat::sampler {

// `accessed`: the variable that the access is to, where that has a name. `column`: how many tokens
// stand before the place on the line that the access has by its line table.
bool is_argument_of_builtin(const std::vector<std::string_view>& tokens,
                            const std::optional<symbols::GlobalName>& accessed, size_t column);

// The last name of "bank::accounts[3].balance".
std::string_view last_name(std::string_view text);

}  // namespace deadheat::sampler
