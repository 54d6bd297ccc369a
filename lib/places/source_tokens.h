// Splits a line of C or C++ into tokens.
#pragma once

#include <string_view>
#include <vector>

namespace deadheat::places {

// Words, literals as "0", and operators; comments are omitted.
std::vector<std::string_view> tokens_of(std::string_view line);
bool is_name(std::string_view token);  // a word that is not a number

}  // namespace deadheat::places
