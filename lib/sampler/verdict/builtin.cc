#include "lib/sampler/verdict/builtin.h"

#include <algorithm>
#include <string>

#include "lib/places/source_tokens.h"

namespace deadheat::sampler {
namespace {

using Tokens = std::vector<std::string_view>;

bool is_builtin(std::string_view word) {
  for (const std::string_view known :
       {"__atomic_", "__sync_", "__c11_atomic_", "atomic_load", "atomic_store", "atomic_exchange",
        "atomic_compare_exchange_", "atomic_fetch_", "atomic_flag_"})
    if (word.starts_with(known)) return true;
  return false;
}

bool follows_pointer(std::string_view token) {
  return token == "->" || token == "." || token == "[" || token == "*";
}

struct Target {
  std::string_view name;  // "slots" in "&table->slots[i]"
  int arrows = 0;
  bool address_of = false, element = false;
  bool member = false;  // of the element
  size_t end = 0;       // of the argument
};

// The argument that begins at `at`; nothing if it is more than names, members and one index.
std::optional<Target> target_at(const Tokens& tokens, size_t at) {
  Target out;
  bool inside = false;
  for (; at < tokens.size(); ++at) {
    const std::string_view token = tokens[at];
    if (!inside && (token == "," || token == ")")) break;
    if (token == "(" || token == "*") return std::nullopt;
    if (token == "[") {
      if (inside || out.element) return std::nullopt;
      inside = out.element = true;
    } else if (token == "]") {
      inside = false;
    } else if (inside) {
      if (follows_pointer(token)) return std::nullopt;
    } else {
      out.arrows += token == "->" ? 1 : 0;
      out.address_of |= token == "&";
      if (!places::is_name(token)) continue;
      out.member |= out.element;
      out.name = token;
    }
  }
  out.end = at;
  return out.name.empty() || inside ? std::nullopt : std::optional(out);
}

bool has(const Tokens& tokens, std::string_view word) {
  return std::find(tokens.begin(), tokens.end(), word) != tokens.end();
}

}  // namespace

std::string_view last_name(std::string_view text) {
  std::string_view last;
  for (const std::string_view token : places::tokens_of(text))
    if (places::is_name(token)) last = token;
  return last;
}

bool is_argument_of_builtin(const Tokens& tokens,
                            const std::optional<symbols::GlobalName>& accessed, size_t column) {
  if (std::count_if(tokens.begin(), tokens.end(), is_builtin) != 1) return false;
  const auto call =
      static_cast<size_t>(std::find_if(tokens.begin(), tokens.end(), is_builtin) - tokens.begin());
  if (call + 1 >= tokens.size() || tokens[call + 1] != "(") return false;
  const auto target = target_at(tokens, call + 2);
  if (!target) return false;
  const bool at_call = column == call || column == call + 1;  // g++ has that of the parenthesis
  const bool once = std::count(tokens.begin(), tokens.end(), target->name) == 1;
  if (!once && (!at_call || target->element)) return false;
  if (accessed && target->address_of) {
    const std::string whole = accessed->name + accessed->part;
    const bool named = last_name(whole) == target->name && target->arrows == 0;
    if (!target->element) return named;
    // An element of an array. With a pointer of that name, the pointer itself is read plainly.
    if (named) return target->member || whole.ends_with(']');
  }
  // Through a pointer: not a variable that the line names.
  if (accessed && (target->arrows > 0 || has(tokens, last_name(accessed->name)))) return false;
  const auto apart = [&](size_t from, size_t to) {
    return std::none_of(tokens.begin() + static_cast<ptrdiff_t>(from),
                        tokens.begin() + static_cast<ptrdiff_t>(to), follows_pointer);
  };
  const int ways = target->arrows + (target->element ? 1 : 0);
  return ways <= 1 && (at_call || apart(0, call)) && apart(target->end, tokens.size());
}

}  // namespace deadheat::sampler
