// Assignment: determines which words of a line an assignment writes to.
//
// A line may have macros besides the relevant assignment: `if (DEBUG) count = LIMIT;`. The line
// table gives the column at which the assignment's code begins, its operator, and the code of a
// macro has the column of the macro's name. So a write at that column goes to what is left of the
// operator, and only those words must be known. Accepted is only what cannot be part of a macro's
// argument or of a cast: a name with members and elements that begins a statement of its own.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace deadheat::sampler {

// What the operator at `at` writes to, as in "*queue->slots[i]"; empty if unclear. `at_start`: a
// statement can begin at the first token.
std::vector<std::string_view> assigned_by(const std::vector<std::string_view>& tokens, size_t at,
                                          bool at_start);

}  // namespace deadheat::sampler
