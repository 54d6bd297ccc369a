// Which variable a line of C or C++ accesses, read off its text.
//
// Only for what no symbol names (heap, stack): a guess from the text is taken only where the line
// holds exactly one thing that a shared access can mean. It names the race for people, and lets
// identity tell apart accesses that compilers place at different columns.
#pragma once

#include <string>
#include <string_view>

namespace deadheat::places {

// "account->balance += amount;" is "balance", "data[i] = 0;" is "data[]", "*p = 1;" is "*p"; empty
// when the line has none or several such.
std::string accessed_variable(std::string_view line);

}  // namespace deadheat::places
