// Command words, paths and lines in JSON. They are
// bytes, not text: invalid UTF-8 is written as {"hex":
// "..."}.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace deadheat::process::recording {

nlohmann::json bytes_to_json(const std::string& bytes);
nlohmann::json words_to_json(const std::vector<std::string>& words);
// Throw nlohmann::json::exception or std::out_of_range if the value is invalid.
std::string bytes_from_json(const nlohmann::json& value);
std::vector<std::string> words_from_json(const nlohmann::json& value);

// A whole number that fits into T. json's own conversion accepts 1e300, which is undefined.
template <typename T>
T whole_from_json(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto whole = value.get<uint64_t>();
    if (std::in_range<T>(whole)) return static_cast<T>(whole);
  } else if (value.is_number_integer()) {
    const auto whole = value.get<int64_t>();
    if (std::in_range<T>(whole)) return static_cast<T>(whole);
  }
  throw std::out_of_range("not a whole number, or too large");
}
template <typename T>
T whole_from_json(const nlohmann::json& object, const char* name, T otherwise) {
  return object.contains(name) ? whole_from_json<T>(object.at(name)) : otherwise;
}
template <typename T>
std::vector<T> wholes_from_json(const nlohmann::json& values) {
  std::vector<T> all;
  for (const nlohmann::json& one : values) all.push_back(whole_from_json<T>(one));
  return all;
}

}  // namespace deadheat::process::recording
