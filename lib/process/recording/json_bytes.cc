#include "lib/process/recording/json_bytes.h"

#include <stdexcept>

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
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (const char c : bytes) {
    digits += kDigits[static_cast<unsigned char>(c) >> 4];
    digits += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return Json{{"hex", digits}};
}

Json words_to_json(const std::vector<std::string>& words) {
  Json all = Json::array();
  for (const std::string& word : words) all.push_back(bytes_to_json(word));
  return all;
}

std::string bytes_from_json(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string digits = value.at("hex").get<std::string>();
  std::string bytes;
  for (size_t at = 0; at + 1 < digits.size(); at += 2) {
    const auto digit = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      throw std::out_of_range("not a hexadecimal digit");
    };
    bytes += static_cast<char>(digit(digits[at]) << 4 | digit(digits[at + 1]));
  }
  return bytes;
}

std::vector<std::string> words_from_json(const Json& value) {
  std::vector<std::string> words;
  for (const Json& word : value) words.push_back(bytes_from_json(word));
  return words;
}

}  // namespace deadheat::process::recording
