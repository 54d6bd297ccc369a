#include "lib/report/suppressions.h"

#include <array>
#include <cstdio>
#include <ctime>

#include "lib/base/text.h"
#include "lib/report/clean_text.h"

namespace deadheat::report {
namespace {

constexpr size_t kMostSides = 4;        // no kind of finding has more roles than three
constexpr size_t kLongestLine = 16384;  // a longer pattern was not written by a person
constexpr size_t kMostProblems = 50;    // a binary file passed by mistake need not list every line

struct KindName {
  std::string_view name;
  SuppressionKind kind;
};
constexpr std::array<KindName, 8> kKinds = {{{"race", SuppressionKind::kRace},
                                             {"race_top", SuppressionKind::kRaceTop},
                                             {"mutex", SuppressionKind::kMutex},
                                             {"deadlock", SuppressionKind::kDeadlock},
                                             {"thread", SuppressionKind::kThread},
                                             {"signal", SuppressionKind::kSignal},
                                             {"called_from_lib", SuppressionKind::kCalledFromLib},
                                             {"failure", SuppressionKind::kFailure}}};

Error unknown_kind(std::string_view word) {
  std::vector<std::string> names;
  for (const KindName& known : kKinds) names.emplace_back(known.name);
  const std::string near = nearest(word, names);
  return {"unknown kind \"" + clip(clean(word), 60) + "\"",
          near.empty() ? "the kinds are " + join(names, ", ") : "did you mean \"" + near + "\"?"};
}

// Where the attributes begin: the first " reason=\"" or " until=" that follows the patterns.
size_t attributes_start(std::string_view line) {
  size_t best = line.size();
  for (const std::string_view word : {"reason=", "until="}) {
    for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
      if (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t')) {
        best = std::min(best, at);
        break;
      }
    }
  }
  return best;
}

// Reads a value in double quotes; \" and \\ stand for themselves. Advances `text` past it.
Result<std::string> quoted(std::string_view& text) {
  if (!text.starts_with('"'))
    return Error{"the reason is not in double quotes", "write reason=\"why it is harmless\""};
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      value += text[++i];
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    } else {
      value += text[i];
    }
  }
  return Error{"the reason's closing quote is missing", "end it with \""};
}

Status parse_attributes(std::string_view text, Suppression& out) {
  while (!(text = trim(text)).empty()) {
    if (text.starts_with("reason=")) {
      text.remove_prefix(7);
      auto value = quoted(text);
      if (!value) return value.error();
      out.reason = clean(*value);
    } else if (text.starts_with("until=")) {
      text.remove_prefix(6);
      const std::string_view word = text.substr(0, text.find_first_of(" \t"));
      out.until = parse_date(word);
      if (!out.until)
        return Error{"\"" + clip(clean(word), 60) + "\" is not a day",
                     "write until=YYYY-MM-DD, for example until=2027-01-31"};
      text.remove_prefix(word.size());
    } else {
      return Error{"\"" + clip(clean(text), 60) + "\" after the pattern is not understood",
                   "only reason=\"...\" and until=YYYY-MM-DD may follow"};
    }
  }
  return Ok{};
}

Status parse_sides(std::string_view text, Suppression& out) {
  for (;;) {
    const size_t arrow = text.find("<->");
    const std::string_view side = trim(text.substr(0, arrow));
    if (side.empty()) return Error{"empty pattern", "write * to match anything"};
    out.sides.emplace_back(side);
    if (arrow == std::string_view::npos) break;
    if (out.sides.size() == kMostSides)
      return Error{"more than four sides", "a finding has two or three; name those"};
    text.remove_prefix(arrow + 3);
  }
  return Ok{};
}

Result<Suppression> parse_line(std::string_view line) {
  if (line.size() > kLongestLine)
    return Error{"the line is longer than 16384 bytes", "shorten it with *"};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    return Error{"no \":\" between kind and pattern",
                 "write KIND:PATTERN, for example race:my_function"};
  const std::string_view word = trim(line.substr(0, colon));
  Suppression out;
  bool known = false;
  for (const KindName& kind : kKinds) {
    if (kind.name != word) continue;
    out.kind = kind.kind;
    known = true;
  }
  if (!known) return unknown_kind(word);
  const std::string_view rest = line.substr(colon + 1);
  const size_t attributes = attributes_start(rest);
  const Status sides = parse_sides(rest.substr(0, attributes), out);
  if (!sides) return sides.error();
  const Status tail = parse_attributes(rest.substr(attributes), out);
  if (!tail) return tail.error();
  out.text = clip(clean(line), 400);
  return out;
}

}  // namespace

std::optional<Date> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  int digits[8];
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 4 || i == 7) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    digits[count++] = text[i] - '0';
  }
  const Date date{digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3],
                  digits[4] * 10 + digits[5], digits[6] * 10 + digits[7]};
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (date.month < 1 || date.month > 12 || date.day < 1) return std::nullopt;
  const bool leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
  if (date.day > kDays[date.month - 1] + (date.month == 2 && leap ? 1 : 0)) return std::nullopt;
  return date;
}

std::string to_string(const Date& date) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02d", date.year, date.month, date.day);
  return buffer;
}

Date today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday};
}

void parse_suppressions(std::string_view text, const std::string& file, Suppressions& into) {
  uint32_t number = 0;
  size_t problems = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    auto parsed = parse_line(line);
    if (parsed) {
      parsed->file = file;
      parsed->line = number;
      into.entries.push_back(std::move(*parsed));
    } else if (++problems <= kMostProblems) {
      into.problems.push_back({file, number, parsed.error().message, parsed.error().hint});
    }
  }
  if (problems > kMostProblems)
    into.problems.push_back(
        {file, number, std::to_string(problems - kMostProblems) + " more lines were not understood",
         "is this a suppressions file?"});
}

bool expired(const Suppression& suppression, const Date& now) {
  return suppression.until && *suppression.until < now;
}

}  // namespace deadheat::report
