#include "lib/places/variable_text.h"

#include <cctype>
#include <set>
#include <vector>

#include "lib/places/source_tokens.h"

namespace deadheat::places {
namespace {

bool is_assignment(std::string_view token) {
  return token == "=" || token == "++" || token == "--" ||
         (token.size() >= 2 && token.back() == '=' && token != "==" && token != "!=" &&
          token != "<=" && token != ">=");
}

// '*' after an operator, after a bracket or at the start is a dereference; after an operand it is a
// product.
bool is_operand_end(std::string_view token) {
  static const std::set<std::string_view> kWords = {"return", "case", "else", "throw", "co_return"};
  return (is_name(token) && !kWords.contains(token)) || token == "0" || token == ")" ||
         token == "]" || std::isdigit(static_cast<unsigned char>(token[0])) != 0;
}

// "int x =", "auto* x =", "vector<int>& x =": a new local, which no other thread can access yet.
bool is_declaration(const std::vector<std::string_view>& tokens, size_t i) {
  const std::string_view before = tokens[i - 1];
  if (is_name(before)) return before != "else" && before != "do" && before != "return";
  if (before != "*" && before != "&" && before != ">") return false;
  return i > 1 && (is_name(tokens[i - 2]) || tokens[i - 2] == ">");
}

}  // namespace

std::string accessed_variable(std::string_view line) {
  const std::vector<std::string_view> tokens = tokens_of(line);
  const auto token = [&](size_t i) {
    return i < tokens.size() ? tokens[i] : std::string_view(";");
  };
  std::set<std::string> found;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!is_name(tokens[i])) continue;
    const std::string name(tokens[i]);
    const std::string_view before = i > 0 ? tokens[i - 1] : ";", after = token(i + 1);
    const bool member = before == "->" || before == ".";
    const bool selected = after == "->" || after == "." || after == "::";
    if (after == "(" || selected) continue;  // a call, or just the path to a member
    const bool declared = !member && i > 0 && is_declaration(tokens, i);
    const bool dereferenced = before == "*" && (i < 2 || !is_operand_end(tokens[i - 2]));
    if (after == "[") {
      found.insert(name + "[]");
    } else if (member) {
      found.insert(name);
    } else if (dereferenced) {
      found.insert("*" + name);
    } else if ((is_assignment(after) || before == "++" || before == "--") && !declared) {
      found.insert(name);
    } else if (name.ends_with('_') && name.size() > 1) {
      found.insert(name);  // the usual naming of data members
    }
  }
  return found.size() == 1 ? *found.begin() : std::string();
}

}  // namespace deadheat::places
