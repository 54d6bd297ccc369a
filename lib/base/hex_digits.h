// Bytes as hexadecimal digits, two a byte, and back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deadheat {

std::string hex_digits(std::span<const unsigned char> bytes);  // "1f00"
std::string hex_digits(std::string_view bytes);

// nullopt: an odd number of digits, or another character.
std::optional<std::string> bytes_of_hex(std::string_view digits);

}  // namespace deadheat
