#include "lib/sampler/verdict/nature.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "lib/model/normalize.h"
#include "lib/places/source_tokens.h"
#include "lib/sampler/verdict/assignment.h"
#include "lib/sampler/verdict/builtin.h"

namespace deadheat::sampler {
namespace {

using symbols::SourceFrame;
using symbols::Symbolizer;
using symbols::WordFacts;
using Tokens = std::vector<std::string_view>;

// Keywords that neither access memory nor change how it is accessed.
bool is_harmless_keyword(std::string_view word) {
  static const std::set<std::string_view> kWords = {
      "if",     "else",  "while",    "for",      "do",       "switch", "case",    "default",
      "return", "break", "continue", "goto",     "sizeof",   "const",  "signed",  "unsigned",
      "int",    "char",  "short",    "long",     "float",    "double", "void",    "bool",
      "struct", "union", "enum",     "true",     "false",    "NULL",   "nullptr", "this",
      "auto",   "new",   "delete",   "noexcept", "override", "final",  "inline"};
  return kWords.contains(word);
}

bool leads_on(std::string_view token) {
  return token == "." || token == "->" || token == "::" || token == ".*" || token == "->*";
}

bool ends_statement(std::string_view token) {
  return token == ";" || token == "{" || token == "}" || token == ":" || token == ")" ||
         token == "else" || token == "do";
}

std::string line_at(Symbolizer& symbolizer, Symbolizer::ModuleId module, const SourceFrame& frame,
                    uint32_t line) {
  SourceFrame there = frame;
  there.line = line;
  return symbolizer.source_text(module, there);
}

// Whether a statement can begin at the frame's line: the text before it ended one.
bool begins_statement(Symbolizer& symbolizer, Symbolizer::ModuleId module,
                      const SourceFrame& frame) {
  constexpr uint32_t kFurthest = 40;  // blank lines and comments in between
  bool in_comment = false;
  for (uint32_t line = frame.line - 1; line > 0 && frame.line - line < kFurthest; --line) {
    std::string text = line_at(symbolizer, module, frame, line);
    if (text.ends_with("*/")) in_comment = true;
    if (in_comment) {
      const size_t begin = text.find("/*");
      if (begin == std::string::npos) continue;
      in_comment = false;
      text.resize(begin);
    }
    if (text.starts_with('#')) return !text.ends_with('\\');
    const Tokens tokens = places::tokens_of(text);
    if (!tokens.empty()) return ends_statement(tokens.back());
  }
  return frame.line == 1;
}

bool is_whole(const Tokens& tokens) {
  int depth = 0;
  for (const std::string_view token : tokens) {
    if (token == "(" || token == "[") ++depth;
    if (token == ")" || token == "]") --depth;
    if (depth < 0) return false;
  }
  return depth == 0 && !tokens.empty() && ends_statement(tokens.back());
}

bool is_plain_word(const WordFacts& facts, std::string_view after, bool dereferenced) {
  if (!facts.known() || facts.marked) return false;
  // "f(" must be a function, a pointer to one or a type; macros have no entry.
  if (leads_on(after)) return !facts.opaque;
  if (facts.variable && facts.marked_value) return false;
  return !facts.marked_inside || (!dereferenced && after != "[" && after != "(");
}

bool names_or_follows(const Tokens& tokens, const symbols::GlobalName& global) {
  for (const std::string_view token : tokens)
    if (token == "->" || token == "*" || token == "[") return true;
  const std::string_view whole = last_name(global.name);
  return std::find(tokens.begin(), tokens.end(), whole) != tokens.end();
}

// Whether all words are known, none of them is marked, and one is a variable: GCC gives some loads
// the line of a closing brace.
bool are_plain_words(Symbolizer& symbolizer, const AccessedPlace& place, const Tokens& tokens) {
  bool any = false;
  bool after_type = false;  // "Type* name" is no dereference
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!places::is_name(tokens[i])) {
      if (tokens[i] != "*") after_type = false;
      continue;
    }
    const bool dereferenced = i > 0 && tokens[i - 1] == "*" && !after_type;
    after_type = is_harmless_keyword(tokens[i]) && tokens[i] != "return";
    if (is_harmless_keyword(tokens[i])) continue;
    const WordFacts facts = symbolizer.word(place.module, place.address, std::string(tokens[i]));
    const std::string_view after = i + 1 < tokens.size() ? tokens[i + 1] : ";";
    if (!is_plain_word(facts, after, dereferenced)) return false;
    any |= facts.variable;
    after_type = facts.other && !facts.variable;  // constructors have the type's name too
  }
  return any;
}

bool is_plain(Symbolizer& symbolizer, const AccessedPlace& place, const SourceFrame& frame) {
  if (model::basename_of(frame.file).find("atomic") != std::string_view::npos) return false;
  if (place.text.starts_with("cmov")) return false;
  const std::string text = symbolizer.source_text(place.module, frame);
  if (text.empty() || text.size() >= symbols::SourceText::kLongest || text.starts_with('#'))
    return false;
  const auto shown = [&](const Tokens& tokens) {
    return (!place.global || names_or_follows(tokens, *place.global)) &&
           are_plain_words(symbolizer, place, tokens);
  };
  const Tokens tokens = places::tokens_of(text);
  const bool begins = begins_statement(symbolizer, place.module, frame);
  if (begins && is_whole(tokens) && shown(tokens)) return true;
  if (!place.writes || frame.column == 0) return false;
  const std::string before = symbolizer.source_before(place.module, frame);
  return shown(assigned_by(tokens, places::tokens_of(before).size(), begins));
}

// Rust's atomics: demangled if possible, otherwise mangled ("_RNv...4core4sync6atomic").
bool in_atomic_library_of_rust(std::string_view name) {
  const bool inside =
      name.starts_with("core::sync::atomic::") ||
      (name.starts_with("_R") && name.find("4core4sync6atomic") != std::string_view::npos);
  return inside && name.find("::new") == std::string_view::npos && !name.ends_with("3new");
}

bool in_atomic_library(const SourceFrame& frame) {
  const std::string_view name = frame.function;
  if (in_atomic_library_of_rust(name)) return true;
  // The building blocks of latches, semaphores and atomic_ref.
  if (model::normalize_function(name).name.starts_with("std::__atomic_impl::")) return true;
  bool member = false;
  for (const std::string_view known :
       {"std::atomic<", "std::__atomic_base<", "std::__atomic_float<", "std::atomic_flag::"})
    member |= name.starts_with(known);
  // Constructors initialise with plain accesses.
  constexpr std::string_view kConstructors[] = {"::atomic(", "::__atomic_base(",
                                                "::__atomic_float(", "::atomic_flag("};
  return member && std::none_of(std::begin(kConstructors), std::end(kConstructors),
                                [&](std::string_view one) {
                                  return name.find(one) != std::string_view::npos;
                                });
}

}  // namespace

bool is_guard(const std::optional<symbols::GlobalName>& global) {
  return global && global->name.starts_with("guard variable");
}

Nature nature_of(Symbolizer& symbolizer, const AccessedPlace& place) {
  if (is_guard(place.global)) return Nature::kAtomic;
  const std::vector<SourceFrame>& frames = symbolizer.frames(place.module, place.address);
  if (frames.empty() || frames[0].line == 0) return Nature::kUnknown;
  const SourceFrame& frame = frames[0];
  if (in_atomic_library(frame)) return Nature::kAtomic;
  if (place.global && place.global->atomic)
    return frame.function.starts_with("std::") ? Nature::kUnknown : Nature::kAtomic;
  const std::string text = symbolizer.source_text(place.module, frame);
  const std::string before = symbolizer.source_before(place.module, frame);
  const size_t column = frame.column == 0 ? std::string::npos : places::tokens_of(before).size();
  if (is_argument_of_builtin(places::tokens_of(text), place.global, column)) return Nature::kAtomic;
  return is_plain(symbolizer, place, frame) ? Nature::kPlain : Nature::kUnknown;
}

}  // namespace deadheat::sampler
