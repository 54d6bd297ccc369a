#include "lib/process/recording/json_bytes.h"

#include <stdexcept>

#include "lib/base/hex_digits.h"

namespace deadheat::process::recording {
namespace {

using Json = nlohmann::json;

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace

Json bytes_to_json(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  return Json{{"hex", hex_digits(bytes)}};
}

Json words_to_json(const std::vector<std::string>& words) {
  Json all = Json::array();
  for (const std::string& word : words) all.push_back(bytes_to_json(word));
  return all;
}

std::string bytes_from_json(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  auto bytes = bytes_of_hex(value.at("hex").get<std::string>());
  if (!bytes) throw std::out_of_range("not hexadecimal digits");
  return *std::move(bytes);
}

std::vector<std::string> words_from_json(const Json& value) {
  std::vector<std::string> words;
  for (const Json& word : value) words.push_back(bytes_from_json(word));
  return words;
}

}  // namespace deadheat::process::recording
