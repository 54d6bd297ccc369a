// Small text functions that several modules need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string hex(uint64_t value);             // "0x1f"
std::string with_thousands(uint64_t value);  // "1,234,567"
std::string join(std::span<const std::string> parts, std::string_view separator);

// The candidate nearest to `word` by edit distance (a transposition counts as one edit). Empty if
// none is near enough to be what the user meant: if more than a third of the word, and at least 2
// letters, differ.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// FNV-1a: for display ids and fingerprints that must not change between machines or versions.
uint64_t stable_hash(std::string_view text, uint64_t seed = 0xcbf29ce484222325ULL);

}  // namespace deadheat
