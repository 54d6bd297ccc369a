#include "lib/sampler/verdict/assignment.h"

#include <algorithm>
#include <set>

#include "lib/places/source_tokens.h"

namespace deadheat::sampler {
namespace {

using Tokens = std::vector<std::string_view>;

bool assigns(std::string_view token) {
  static const std::set<std::string_view> kOperators = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
  return kOperators.contains(token);
}

// Where the bracket that closes just before `end` was opened; `end` if nowhere.
size_t opened_at(const Tokens& tokens, size_t end) {
  int depth = 0;
  for (size_t i = end; i-- > 0;) {
    if (tokens[i] == ")" || tokens[i] == "]") ++depth;
    if (tokens[i] == "(" || tokens[i] == "[") --depth;
    if (depth == 0) return i;
  }
  return end;
}

// "a->b[i].c": the beginning of the chain that ends just before `end`; `end` if there is none.
size_t chain_begin(const Tokens& tokens, size_t end) {
  size_t at = end;
  while (at > 0) {
    size_t name = at;
    while (name > 0 && tokens[name - 1] == "]") {
      const size_t open = opened_at(tokens, name);
      if (open == name) return end;
      name = open;
    }
    if (name == 0 || !places::is_name(tokens[name - 1])) return end;
    at = name - 1;
    if (at == 0 || (tokens[at - 1] != "." && tokens[at - 1] != "->" && tokens[at - 1] != "::"))
      return at;
    --at;
  }
  return end;
}

// Whether a new statement begins at `at`, outside all parentheses.
bool begins_here(const Tokens& tokens, size_t at, bool at_start) {
  if (at == 0) return at_start;
  int depth = 0;
  for (size_t i = 0; i < at; ++i) depth += tokens[i] == "(" ? 1 : tokens[i] == ")" ? -1 : 0;
  if (depth != 0) return false;
  const std::string_view before = tokens[at - 1];
  if (before == ")") {
    // "if (...)", not the end of a cast.
    const size_t open = opened_at(tokens, at);
    static const std::set<std::string_view> kHeads = {"if", "while", "for", "switch"};
    return open > 0 && open < at && kHeads.contains(tokens[open - 1]);
  }
  return before == ";" || before == "{" || before == "}" || before == "else" || before == "do";
}

}  // namespace

Tokens assigned_by(const Tokens& tokens, size_t at, bool at_start) {
  if (at >= tokens.size() || !assigns(tokens[at])) return {};
  size_t begin = chain_begin(tokens, at);
  if (begin == at) return {};
  while (begin > 0 && tokens[begin - 1] == "*") --begin;
  if (!begins_here(tokens, begin, at_start)) return {};
  Tokens out(tokens.begin() + static_cast<ptrdiff_t>(begin),
             tokens.begin() + static_cast<ptrdiff_t>(at));
  // A call, or a cast, inside an index.
  if (std::find(out.begin(), out.end(), "(") != out.end()) return {};
  return out;
}

}  // namespace deadheat::sampler
