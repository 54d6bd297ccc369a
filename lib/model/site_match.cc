// match(Site, Site): collects the hints one by one, then applies the rules that weigh them. See
// identity.h for the invariant.
//
// Within one build nothing drifts: places are equal or different. Across builds a line says little
// by itself; text, variable, function and the line within the function are considered together.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "lib/base/text.h"
#include "lib/model/identity.h"
#include "lib/model/normalize.h"

namespace deadheat::model {
namespace {

// kCompatible: one spelling is less specific than the other and does not contradict it.
enum class Hint : uint8_t { kMissing, kEqual, kCompatible, kConflict, kDifferent };

// Without source text, an access to the same variable in the same function that is further away
// than this counts as a different one. An estimate of how far an edit moves a line, not a
// measurement.
constexpr uint32_t kDriftLines = 50;

bool agrees(Hint hint) { return hint == Hint::kEqual || hint == Hint::kCompatible; }

bool ends_at_component(std::string_view longer, std::string_view shorter,
                       std::string_view separator) {
  return longer.size() > shorter.size() + separator.size() && longer.ends_with(shorter) &&
         longer.substr(0, longer.size() - shorter.size()).ends_with(separator);
}

bool overlap(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    ++(a[i] < b[j] ? i : j);
  }
  return false;
}

// Source trees move between machines as a whole: then the roots differ and the ends agree. Paths
// with the same root that differ in the middle are different files of one tree with the same name
// (liba/src/util.c, libb/src/util.c).
Hint compare_files(std::string_view raw_a, std::string_view raw_b) {
  if (raw_a.empty() || raw_b.empty()) return Hint::kMissing;
  if (raw_a == raw_b) return Hint::kEqual;
  if (basename_of(raw_a) != basename_of(raw_b)) return Hint::kDifferent;
  const std::string a = normalize_path(raw_a), b = normalize_path(raw_b);
  if (a == b) return Hint::kEqual;
  if (ends_at_component(a, b, "/") || ends_at_component(b, a, "/")) return Hint::kCompatible;
  if (!a.starts_with('/') || !b.starts_with('/')) return Hint::kConflict;
  const auto x = split(std::string_view(a).substr(1), '/'),
             y = split(std::string_view(b).substr(1), '/');
  const size_t shorter = std::min(x.size(), y.size());
  size_t head = 0, tail = 0;
  while (head < shorter && x[head] == y[head]) ++head;
  while (tail < shorter && x[x.size() - 1 - tail] == y[y.size() - 1 - tail]) ++tail;
  static constexpr std::array<std::string_view, 6> kHoldsRoots = {"home", "Users", "tmp",
                                                                  "mnt",  "media", "var"};
  const bool roots_differ =
      head == 0 ||
      (head == 1 && std::find(kHoldsRoots.begin(), kHoldsRoots.end(), x[0]) != kHoldsRoots.end());
  return roots_differ && tail >= 2 ? Hint::kCompatible : Hint::kConflict;
}

Hint compare_texts(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return Hint::kMissing;
  if (a == b) return Hint::kEqual;
  return normalize_text(a) == normalize_text(b) ? Hint::kEqual : Hint::kDifferent;
}

Hint compare_variables(std::string_view raw_a, std::string_view raw_b) {
  if (raw_a.empty() || raw_b.empty()) return Hint::kMissing;
  if (raw_a == raw_b) return Hint::kEqual;
  const std::string a = normalize_variable(raw_a), b = normalize_variable(raw_b);
  if (a == b) return Hint::kEqual;
  for (const std::string_view separator : {"::", "."}) {
    if (ends_at_component(a, b, separator) || ends_at_component(b, a, separator))
      return Hint::kCompatible;
  }
  return Hint::kDifferent;
}

struct FunctionHint {
  Hint name = Hint::kMissing;
  bool overloads = false;  // parameters differ, and not only because a template was instantiated
                           // with other types
  bool lambdas = false;    // one compiler numbered them as different lambdas
  bool exact = false;      // name, parameters, template arguments and lambdas all agree
};

FunctionHint compare_functions(std::string_view raw_a, std::string_view raw_b) {
  FunctionHint hint;
  if (names_no_function(raw_a) || names_no_function(raw_b)) return hint;
  if (raw_a == raw_b) return FunctionHint{Hint::kEqual, false, false, true};
  const FunctionName a = normalize_function(raw_a), b = normalize_function(raw_b);
  if (a.name == b.name) {
    hint.name = Hint::kEqual;
  } else if (ends_at_component(a.name, b.name, "::") || ends_at_component(b.name, a.name, "::")) {
    hint.name = Hint::kCompatible;
  } else {
    hint.name = Hint::kDifferent;
  }
  const bool parameters_differ =
      a.has_parameters && b.has_parameters && a.parameters != b.parameters;
  const bool templates = !a.arguments.empty() && !b.arguments.empty();
  hint.overloads = parameters_differ && !templates;
  // Different compilers produce '{lambda()#1}' and '$_0'; their numbers cannot be compared.
  hint.lambdas = a.ordinals != b.ordinals && a.ordinals.substr(0, 1) == b.ordinals.substr(0, 1);
  hint.exact = hint.name == Hint::kEqual && !parameters_differ && a.arguments == b.arguments &&
               a.ordinals == b.ordinals;
  return hint;
}

// libfoo.so.1.2 and libfoo.so.1.3 are builds of one module.
bool modules_conflict(const Site& a, const Site& b) {
  if (a.module.empty() || b.module.empty() || a.module == b.module) return false;
  const auto stem = [](std::string_view path) {
    const std::string_view name = basename_of(path);
    return name.substr(0, name.find(".so"));
  };
  return stem(a.module) != stem(b.module);
}

enum class Shift : uint8_t { kUnknown, kHere, kMoved };

bool has_offset(const Site& site) {
  return site.function_line > 0 && site.line >= site.function_line;
}

Shift compare_places(const Site& a, const Site& b, bool exact_function) {
  if (a.line == 0 || b.line == 0) return Shift::kUnknown;
  if (!has_offset(a) || !has_offset(b)) return a.line == b.line ? Shift::kHere : Shift::kMoved;
  if (a.line - a.function_line != b.line - b.function_line) return Shift::kMoved;
  return a.line == b.line || exact_function ? Shift::kHere : Shift::kMoved;
}

// Whether the line names the variable in exactly one place: by its last part that occurs there, for
// the fields that a library's function touches are not in the line that calls it.
bool names_once(std::string_view raw_text, std::string_view raw_variable) {
  const std::string text = normalize_text(raw_text), variable = normalize_variable(raw_variable);
  for (std::string_view rest = variable; !rest.empty();) {
    const size_t before = rest.find_last_of(":.*");
    std::string_view part = rest.substr(before == std::string_view::npos ? 0 : before + 1);
    part = part.substr(0, part.find('['));  // source[][]
    const size_t first = part.empty() ? std::string::npos : text.find(part);
    if (first != std::string::npos) return text.find(part, first + 1) == std::string::npos;
    rest = rest.substr(0, before == std::string_view::npos ? 0 : before);
  }
  return false;
}

// One line may access several things: does a known hint select the same one on both sides?
bool same_on_line(const Site& a, const Site& b, Hint variable, Hint text) {
  const bool columns_known = a.column > 0 && b.column > 0;
  if (columns_known && a.column == b.column) return true;
  if (!agrees(variable)) return false;
  // Compilers disagree about the column of an access; it matters only if the line names the
  // variable twice.
  return !columns_known || (text == Hint::kEqual && names_once(a.source_text, a.variable));
}

Match match_in_build(const Site& a, const Site& b) {
  const bool sourceless = a.file.empty() || b.file.empty() || a.line == 0 || b.line == 0;
  if (!sourceless && a.line != b.line) return Match::kDifferent;
  const Hint variable = compare_variables(a.variable, b.variable);
  if (variable == Hint::kDifferent) return Match::kDifferent;
  if (sourceless) {
    if (!a.pcs.empty() && !b.pcs.empty()) return Match::kDifferent;
    const bool named = agrees(compare_functions(a.function, b.function).name) && agrees(variable);
    return named ? Match::kLikely : Match::kDifferent;
  }
  if (a.column != b.column && a.column > 0 && b.column > 0) return Match::kDifferent;
  if (!agrees(compare_files(a.file, b.file))) return Match::kDifferent;
  const bool one_sided = (a.column == 0) != (b.column == 0) ||
                         a.variable.empty() != b.variable.empty() ||
                         a.function.empty() != b.function.empty();
  if (one_sided || !same_on_line(a, b, variable, Hint::kMissing)) return Match::kLikely;
  const FunctionHint function = compare_functions(a.function, b.function);
  return function.name == Hint::kDifferent ? Match::kLikely : Match::kSame;
}

Match match_without_file(const Site& a, const Site& b, Hint text, Hint variable) {
  const FunctionHint function = compare_functions(a.function, b.function);
  if (agrees(function.name) && text != Hint::kDifferent &&
      (agrees(variable) || text == Hint::kEqual))
    return Match::kLikely;
  const bool nothing_but_pc = a.function.empty() && b.function.empty() && !a.module.empty();
  const bool may_be_one_build = a.build_id.empty() || b.build_id.empty();
  return nothing_but_pc && may_be_one_build && a.module == b.module && overlap(a.pcs, b.pcs)
             ? Match::kLikely
             : Match::kDifferent;
}

// Precondition: same file, no contradiction in function and text, and the same line or the same
// line within the function.
Match match_here(const Site& a, const Site& b, const FunctionHint& function, Hint text,
                 Hint variable) {
  if (function.overloads || function.lambdas || !same_on_line(a, b, variable, text))
    return Match::kLikely;
  if (text == Hint::kEqual) return Match::kSame;
  // Without the text, another statement may have moved to this line: all other hints must agree.
  const bool same_column = a.column > 0 && a.column == b.column;
  const bool same_offset = has_offset(a) && has_offset(b);
  return agrees(function.name) && agrees(variable) && (same_column || same_offset) ? Match::kSame
                                                                                   : Match::kLikely;
}

Match match_moved(const Site& a, const Site& b, const FunctionHint& function, Hint text,
                  Hint variable) {
  if (!agrees(function.name)) return Match::kDifferent;
  if (text == Hint::kEqual) return Match::kLikely;
  const uint32_t distance = a.line > b.line ? a.line - b.line : b.line - a.line;
  return agrees(variable) && distance <= kDriftLines ? Match::kLikely : Match::kDifferent;
}

Match match_across_builds(const Site& a, const Site& b) {
  const Hint text = compare_texts(a.source_text, b.source_text);
  const bool same_line = a.line == b.line, offsets = has_offset(a) && has_offset(b);
  // The common case when comparing two lists; decided before looking at names.
  if (text == Hint::kDifferent && !same_line && !offsets) return Match::kDifferent;
  const Hint variable = compare_variables(a.variable, b.variable);
  if (variable == Hint::kDifferent) return Match::kDifferent;
  const Hint file = compare_files(a.file, b.file);
  if (file == Hint::kMissing) return match_without_file(a, b, text, variable);
  const FunctionHint function = compare_functions(a.function, b.function);
  if (file == Hint::kDifferent) {  // the file was renamed, or the code moved to another file
    return function.name == Hint::kEqual && text == Hint::kEqual && agrees(variable)
               ? Match::kLikely
               : Match::kDifferent;
  }
  const Shift place = compare_places(a, b, function.exact);
  const bool here = place == Shift::kHere;
  if (text == Hint::kDifferent)  // the statement was edited
    return agrees(function.name) && agrees(variable) && here ? Match::kLikely : Match::kDifferent;
  if (function.name == Hint::kDifferent) {  // perhaps this is the function it was inlined into
    const bool marked =
        text == Hint::kEqual || agrees(variable) || (a.column > 0 && a.column == b.column);
    return here && same_line && marked ? Match::kLikely : Match::kDifferent;
  }
  if (place == Shift::kUnknown) {
    return agrees(function.name) && (text == Hint::kEqual || agrees(variable)) ? Match::kLikely
                                                                               : Match::kDifferent;
  }
  if (!here) return match_moved(a, b, function, text, variable);
  const Match answer = match_here(a, b, function, text, variable);
  return file == Hint::kConflict || modules_conflict(a, b) ? std::min(answer, Match::kLikely)
                                                           : answer;
}

Match match_code(const Site& a, const Site& b) {
  if (a.build_id.empty() || a.build_id != b.build_id) return match_across_builds(a, b);
  return overlap(a.pcs, b.pcs) ? Match::kSame : match_in_build(a, b);
}

// An empty part is unknown: it neither contradicts nor agrees.
Match match_part(std::string_view a, std::string_view b) {
  if (a == b) return a.empty() ? Match::kLikely : Match::kSame;
  return a.empty() || b.empty() ? Match::kLikely : Match::kDifferent;
}

Match match_syscall(const Site& a, const Site& b) {
  if (a.syscall.empty() || b.syscall.empty()) return Match::kDifferent;
  if (normalize_syscall(a.syscall) != normalize_syscall(b.syscall)) return Match::kDifferent;
  const Match answer = std::min(match_part(basename_of(a.program), basename_of(b.program)),
                                match_part(normalize_object(a.object), normalize_object(b.object)));
  // A script may make the call in two places: the lines distinguish them until someone edits it.
  const bool other_line = a.line > 0 && b.line > 0 && a.line != b.line;
  return other_line ? std::min(answer, Match::kLikely) : answer;
}

Match match_label(const Site& a, const Site& b) {
  if (a.label != b.label || a.label.empty()) return Match::kDifferent;
  if (a.module == b.module) return Match::kSame;
  return a.module.empty() || b.module.empty() ? Match::kLikely : Match::kDifferent;
}

}  // namespace

Match match(const Site& a, const Site& b) {
  if (a.kind != b.kind) return Match::kDifferent;
  switch (a.kind) {
    case SiteKind::kCode:
      return match_code(a, b);
    case SiteKind::kSyscall:
      return match_syscall(a, b);
    case SiteKind::kLabel:
      return match_label(a, b);
  }
  return Match::kDifferent;
}

}  // namespace deadheat::model
