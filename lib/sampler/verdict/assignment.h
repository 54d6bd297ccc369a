// Assignment: which words of a line an assignment writes to.
//
// A line may have macros beside the assignment that matters: `if (DEBUG) count = LIMIT;`. The line
// table says at which column the code of the assignment begins, its operator, and what a macro does
// has the column of the macro's name. So a write at that column is to what stands left of the
// operator, and only those words have to be known. Taken is only what cannot be part of a macro's
// argument or of a cast: a name with members and elements that begins a statement of its own.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace deadheat::sampler {

// What the operator at `at` writes to, as in "*queue->slots[i]"; empty where that is not shown.
// `at_start`: a statement can begin where the tokens do.
std::vector<std::string_view> assigned_by(const std::vector<std::string_view>& tokens, size_t at,
                                          bool at_start);

}  // namespace deadheat::sampler
