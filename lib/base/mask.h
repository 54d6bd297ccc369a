// What a program printed, without what differs in every run: addresses, times, process numbers.
//
// Numbers that mean something (a balance, a count) stay. The order of lines goes: threads may print
// in any order without doing harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat {

// `pid` of the program, 0 when unknown; `folder` is a path that only this run had.
std::string mask(std::string_view text, uint64_t pid, std::string_view folder);
std::string sorted_lines(std::string_view text);

}  // namespace deadheat
