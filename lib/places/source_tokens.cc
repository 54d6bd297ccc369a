#include "lib/places/source_tokens.h"

#include <cctype>

namespace deadheat::places {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::vector<std::string_view> tokens_of(std::string_view line) {
  static constexpr std::string_view kOperators[] = {
      "<<=", ">>=", "->", "::", "++", "--", "+=", "-=", "*=", "/=", "%=",
      "&=",  "|=",  "^=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    size_t length = 1;
    if (line.substr(at, 2) == "//") break;
    if (line.substr(at, 2) == "/*") {
      const size_t end = line.find("*/", at + 2);
      at = end == std::string_view::npos ? line.size() : end + 2;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    if (c == '"' || c == '\'') {
      while (at + length < line.size() && line[at + length] != c)
        length += line[at + length] == '\\' ? 2 : 1;
      tokens.emplace_back("0");
      at += length + 1;
      continue;
    }
    if (is_word(c)) {
      while (at + length < line.size() && is_word(line[at + length])) ++length;
    } else {
      for (const std::string_view known : kOperators)
        if (length == 1 && line.substr(at, known.size()) == known) length = known.size();
    }
    tokens.push_back(line.substr(at, length));
    at += length;
  }
  return tokens;
}

bool is_name(std::string_view token) {
  return !token.empty() && is_word(token[0]) &&
         std::isdigit(static_cast<unsigned char>(token[0])) == 0;
}

}  // namespace deadheat::places
