// Guesses from the text of a C or C++ line which variable it accesses.
//
// Only for memory without a symbol (heap, stack). A guess is used only if the line contains exactly
// one thing that a shared access can refer to. It names the race for people, and lets identity
// distinguish accesses that compilers place at different columns.
#pragma once

#include <string>
#include <string_view>

namespace deadheat::places {

// "account->balance += amount;" gives "balance", "data[i] = 0;" gives "data[]", "*p = 1;" gives
// "*p"; empty if the line has none or several.
std::string accessed_variable(std::string_view line);

}  // namespace deadheat::places
