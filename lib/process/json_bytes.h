// Words of a command, paths and lines in JSON. They are bytes, not text: what is not UTF-8 is
// written as
// {"hex": "..."}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace deadheat::process {

nlohmann::json bytes_to_json(const std::string& bytes);
nlohmann::json words_to_json(const std::vector<std::string>& words);
// Throw nlohmann::json::exception or std::out_of_range when the value is not what it should be.
std::string bytes_from_json(const nlohmann::json& value);
std::vector<std::string> words_from_json(const nlohmann::json& value);

}  // namespace deadheat::process
