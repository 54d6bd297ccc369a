// A line of C or C++ as tokens.
#pragma once

#include <string_view>
#include <vector>

namespace deadheat::places {

// Words, literals as "0", and operators; comments are left out.
std::vector<std::string_view> tokens_of(std::string_view line);
bool is_name(std::string_view token);  // a word that is no number

}  // namespace deadheat::places
