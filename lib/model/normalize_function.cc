// Brings function names to one spelling. A scan from left to right skips balanced <> and () groups:
// "std::vector<int> a::f<int>(int)::{lambda(char)#2}::operator()(char) const" becomes
// "a::f::{lambda}::operator()".
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "lib/model/characters.h"
#include "lib/model/normalize.h"

namespace deadheat::model {
namespace {

constexpr size_t kLongestName =
    4096;  // longer names are truncated: people do not compare them, and memory stays bounded
constexpr std::string_view kAnonymous = "{anon}";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '~';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Strips the suffixes that compilers append to clones of the same source function.
std::string_view strip_symbol_suffixes(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kSuffixes = {
      ".part",    ".constprop",    ".isra",
      ".cold",    ".lto_priv",     ".llvm",
      "._omp_fn", ".omp_outlined", ".omp_outlined_debug__",
      ".warm",    ".localalias"};
  for (;;) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return name;
    const std::string_view tail = name.substr(dot);
    const bool is_number =
        tail.size() > 1 && tail.find_first_not_of("0123456789", 1) == std::string_view::npos;
    bool known = is_number || tail == ".";
    for (const std::string_view suffix : kSuffixes) known = known || tail == suffix;
    if (!known) return name;
    name = name.substr(0, dot);
  }
}

// "f(int) [clone .part.0] [clone .cold]", "f(int) (.part.0)", "f.constprop.0".
std::string_view strip_clones(std::string_view name) {
  for (;;) {
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    size_t open = std::string_view::npos;
    if (name.ends_with(']')) open = name.rfind(" [clone ");
    if (open == std::string_view::npos && name.ends_with(']')) open = name.rfind(" [.");
    if (name.ends_with(')')) open = name.rfind(" (.");
    if (open == std::string_view::npos) return strip_symbol_suffixes(name);
    name = name.substr(0, open);
  }
}

// Decodes the plain nested names of a mangled name: _ZN4bank4moveEi is bank::move. Empty if the
// name contains anything else.
std::string plain_mangled(std::string_view name) {
  if (!name.starts_with("_Z")) return {};
  name.remove_prefix(2);
  const bool nested = name.starts_with("N");
  if (nested) name.remove_prefix(1);
  while (nested && !name.empty() && (name[0] == 'K' || name[0] == 'V' || name[0] == 'r'))
    name.remove_prefix(1);
  if (name.starts_with("L")) name.remove_prefix(1);  // internal linkage
  std::string out;
  while (!name.empty() && is_digit(name[0])) {
    size_t length = 0;
    while (!name.empty() && is_digit(name[0]) && length < kLongestName) {
      length = length * 10 + static_cast<size_t>(name[0] - '0');
      name.remove_prefix(1);
    }
    if (length == 0 || length > name.size()) return {};
    if (!out.empty()) out += "::";
    out += name.substr(0, length) == "_GLOBAL__N_1" ? kAnonymous : name.substr(0, length);
    name.remove_prefix(length);
    if (!nested) break;
  }
  if (nested && !name.starts_with("E")) return {};
  return out;
}

// Normalises spellings that do not depend on brackets, before the scan.
std::string respell(std::string_view name) {
  std::string text(name);
  static constexpr std::array<std::array<std::string_view, 2>, 8> kSpellings = {{
      {"(anonymous namespace)", kAnonymous},
      {"{anonymous}", kAnonymous},
      {"<unnamed>", kAnonymous},
      {"_GLOBAL__N_1", kAnonymous},
      {"std::__cxx11::", "std::"},
      {"std::__1::", "std::"},
      {"'unnamed'", "{unnamed}"},
      {"(anonymous class)", "{lambda}"},
  }};
  for (const auto& [from, to] : kSpellings) replace_all(text, from, to);
  for (size_t at = text.find("[abi:"); at != std::string::npos; at = text.find("[abi:", at)) {
    const size_t close = text.find(']', at);
    if (close == std::string::npos) break;
    text.erase(at, close - at + 1);
  }
  return text;
}

// The position after the group that opens at `at`; npos if it never closes. Inside <>, parentheses
// hide comparison operators.
size_t group_end(std::string_view text, size_t at) {
  const bool angle = text[at] == '<';
  int depth = 0, parentheses = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (angle) {
      if (c == '(') ++parentheses;
      if (c == ')') --parentheses;
      if (parentheses > 0) continue;
      if (c == '<') ++depth;
      if (c == '>' && text[i - 1] != '-') --depth;
    } else {
      if (c == '(') ++depth;
      if (c == ')') --depth;
    }
    if (depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

std::string normalize_parameters(std::string_view parameters) {
  std::string text;
  bool balanced = true;
  for (size_t i = 0; i < parameters.size();) {
    const size_t end = balanced && parameters[i] == '<' ? group_end(parameters, i) : i;
    balanced = balanced && end != std::string_view::npos;
    if (balanced && end > i) {
      i = end;
    } else {
      text += parameters[i++];
    }
  }
  text = " " + text;
  for (const std::string_view word :
       {"struct ", "class ", "enum ", "union ", "const ", "volatile "}) {
    for (const char before : {' ', ',', '(', '*', '&'})
      replace_all(text, before + std::string(word), {&before, 1});
  }
  for (const std::string_view after : {" const", " volatile"}) replace_all(text, after, "");
  std::erase(text, ' ');
  replace_all(text, "std::basic_string_view", "std::string_view");
  replace_all(text, "std::basic_string", "std::string");
  return text == "void" ? "" : text;
}

// The position after the brace that closes the first one; npos if it never closes.
size_t braces_end(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  FunctionName run() {
    while (at_ < text_.size()) step();
    // A name that consists only of brackets is compared unchanged.
    if (out_.name.empty()) out_.name = std::string(text_);
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void step() {
    const char c = text_[at_];
    const bool word_begins = at_ == 0 || !is_word(text_[at_ - 1]);
    if (word_begins && rest().starts_with("operator") &&
        (at_ + 8 == text_.size() || !is_word(text_[at_ + 8])))
      return take_operator();
    if (word_begins && balanced_ && lambda()) return;
    if (balanced_ && (c == '<' || c == '(')) {
      const size_t end = group_end(text_, at_);
      // From here on, take unbalanced brackets literally; searching for their ends again and again
      // would be quadratic.
      balanced_ = end != std::string_view::npos;
      if (!balanced_) return;
      if (c == '(') {
        out_.has_parameters = true;
        out_.parameters = normalize_parameters(text_.substr(at_ + 1, end - at_ - 2));
      } else {
        for (const char inside : text_.substr(at_, end - at_)) {
          if (inside != ' ') out_.arguments += inside;
        }
      }
      at_ = end;
      return;
    }
    if (c == ' ') return space();
    if (c == ':')
      out_.has_parameters = false;  // the preceding group belonged to an enclosing function
    out_.name += c;
    ++at_;
  }

  // A blank ends the return type, unless a qualifier of the member function follows.
  void space() {
    ++at_;
    for (const std::string_view qualifier : {"const", "volatile", "noexcept", "&&", "&"}) {
      const bool ends =
          at_ + qualifier.size() >= text_.size() || !is_word(text_[at_ + qualifier.size()]);
      if (out_.has_parameters && ends && rest().starts_with(qualifier)) {
        at_ += qualifier.size();
        return;
      }
    }
    if (at_ == text_.size() || text_[at_] == '<' || text_[at_] == '(') return;  // "operator< <int>"
    out_.name.clear();
    out_.arguments.clear();
    out_.has_parameters = false;
  }

  void take_operator() {
    static constexpr std::array<std::string_view, 40> kOperators = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=",  "&&", "||",
        "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "->", "<",   ">",  "=",
        "!",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  ",",  "\"\""};
    out_.name += "operator";
    at_ += 8;
    for (const std::string_view symbol : kOperators) {
      if (!rest().starts_with(symbol)) continue;
      out_.name += symbol;
      at_ += symbol.size();
      return;
    }
    // A conversion operator or new/delete: its type extends to the parameter list.
    const size_t end = std::min(text_.find('(', at_), text_.size());
    if (rest().starts_with(" new") || rest().starts_with(" delete")) out_.name += ' ';
    for (; at_ < end; ++at_) {
      if (text_[at_] != ' ') out_.name += text_[at_];
    }
  }

  // {lambda(int)#1}, <lambda(int)>, 'lambda0'(int), 'lambda'(), $_0, {unnamed type#1}: each
  // compiler has its own numbering.
  bool lambda() {
    const std::string_view left = rest();
    size_t length = 0;
    if (left.starts_with("$_")) {
      length = 2;
      while (length < left.size() && is_digit(left[length])) ++length;
    } else if (left.starts_with("'lambda")) {
      length = left.find('\'', 1);
      if (length != std::string_view::npos) ++length;
    } else if (left.starts_with("{lambda") || left.starts_with("{unnamed")) {
      length = braces_end(left);
    } else if (left.starts_with("<lambda")) {
      length = group_end(left, 0);
    }
    if (length == std::string_view::npos) balanced_ = false;
    if (length == 0 || length == std::string_view::npos) return false;
    note_ordinal(left.substr(0, length));
    out_.name += "{lambda}";
    at_ += length;
    // 'lambda'(int): the group belongs to the lambda; it is not an enclosing function's parameter
    // list.
    if (left[0] == '\'' && at_ < text_.size() && text_[at_] == '(') {
      const size_t end = group_end(text_, at_);
      if (end != std::string_view::npos) at_ = end;
    }
    out_.has_parameters = false;
    return true;
  }

  // Records the last number of the spelling; '#' counts from 1, the other forms from 0.
  void note_ordinal(std::string_view spelling) {
    size_t end = spelling.size();
    while (end > 0 && !is_digit(spelling[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && is_digit(spelling[begin - 1])) --begin;
    const bool numbered =
        spelling.find('#') != std::string_view::npos || (spelling[0] != '{' && spelling[0] != '<');
    out_.ordinals += spelling[0];
    if (numbered) out_.ordinals += spelling.substr(begin, end - begin);
    out_.ordinals += ';';
  }

  std::string_view text_;
  size_t at_ = 0;
  bool balanced_ = true;
  FunctionName out_;
};

}  // namespace

bool names_no_function(std::string_view function) {
  return function.empty() || function.starts_with(".omp_");
}

FunctionName normalize_function(std::string_view function) {
  function = strip_clones(function.substr(0, kLongestName));
  if (function.empty()) return {};
  if (std::string plain = plain_mangled(function); !plain.empty())
    return FunctionName{plain, "", false, "", ""};
  const std::string text = respell(function);
  return Scan(text).run();
}

}  // namespace deadheat::model
