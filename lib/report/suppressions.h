// Suppressions: which findings the user chose to hide, why, and until when.
//
//   # comment
//   race:transfer                                     TSan's form: either side, any frame
//   race:^transfer$ <-> ^audit$ reason="DB-12" until=2027-01-31
//
// A line is KIND:PATTERN, with TSan's kinds (and "failure") and pattern rules ('*' matches
// anything, '^' and '$' anchor, otherwise a substring). Beyond TSan a line may name two to four
// sides joined by "<->" (each must match a different side of the finding), a reason, and a last
// day. Every TSan file is a valid file with the same meaning.
//
// Nothing is hidden silently: expired, unused and misspelt lines are reported. Matching is linear
// in the name's length.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/finding.h"

namespace deadheat::report {

struct Date {
  int year = 0, month = 0, day = 0;
  friend auto operator<=>(const Date&, const Date&) = default;
};
std::optional<Date> parse_date(std::string_view text);  // "2027-01-31", only days that exist
std::string to_string(const Date& date);
Date today();  // UTC

enum class SuppressionKind : uint8_t {
  kRace,
  kRaceTop,
  kMutex,
  kDeadlock,
  kThread,
  kSignal,
  kCalledFromLib,
  kFailure  // our addition: failures that no race explains; no other kind hides those
};

struct Suppression {
  SuppressionKind kind = SuppressionKind::kRace;
  std::vector<std::string> sides;  // one pattern: any side; more: each matches a different side
  std::string reason;
  std::optional<Date> until;  // the last day on which it applies
  std::string file;
  uint32_t line = 0;
  std::string text;  // the line as written
};

struct SuppressionProblem {
  std::string file;
  uint32_t line = 0;
  std::string message;
  std::string hint;
};

struct Suppressions {
  std::vector<Suppression> entries;
  std::vector<SuppressionProblem>
      problems;  // lines that could not be parsed; the others still apply
};

// Adds the lines of one file. Never fails as a whole: each bad line is one problem.
void parse_suppressions(std::string_view text, const std::string& file, Suppressions& into);

// TSan's pattern rules.
bool pattern_matches(std::string_view pattern, std::string_view name);

bool expired(const Suppression& suppression, const Date& today);
bool matches(const Suppression& suppression, const model::Finding& finding);
// The findings of this version are races and failures; the other kinds are accepted for TSan's
// files and are never "unused".
bool can_match(SuppressionKind kind);

// A line that hides this finding and little else: "race:^transfer$ <-> ^audit$". Empty if a side
// has no name that a pattern could contain.
std::string suggest_suppression(const model::Finding& finding);

}  // namespace deadheat::report
