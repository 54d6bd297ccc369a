// Removes from a program's output what differs in every run: addresses, times, process ids.
//
// Numbers with a meaning (a balance, a count) stay. Lines are sorted, because threads may print in
// any order without doing harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat {

// `pid` is the program's, 0 if unknown; `folder` is a path that only this run used.
std::string mask(std::string_view text, uint64_t pid, std::string_view folder);
std::string sorted_lines(std::string_view text);

}  // namespace deadheat
