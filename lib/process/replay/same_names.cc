#include "lib/process/replay/same_names.h"

#include <algorithm>
#include <cctype>

namespace deadheat::process::replay {
namespace {

// The length of the one stretch of letters and digits in which they differ; 0 if there is none.
size_t drawn_stretch(std::string_view recorded, std::string_view now) {
  if (recorded.size() != now.size() || recorded == now) return 0;
  const auto first = std::mismatch(recorded.begin(), recorded.end(), now.begin()).first;
  const auto last = std::mismatch(recorded.rbegin(), recorded.rend(), now.rbegin()).first.base();
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return std::all_of(first, last, is_plain) ? static_cast<size_t>(last - first) : 0;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool SameNames::same(std::string_view recorded, std::string_view now, bool creates) const {
  // Of six random letters (mkstemp), the outer ones may agree by chance; no library uses more than
  // twelve.
  constexpr size_t kLeast = 4, kMostDrawn = 12;
  if (recorded == now) return true;
  if (recorded.size() != now.size()) return false;
  std::string told(recorded);
  for (const auto& [then, today] : drawn_)
    for (size_t at = told.find(then); at != std::string::npos; at = told.find(then, at + 1))
      told.replace(at, then.size(), today);
  const size_t stretch = drawn_stretch(told, now);
  // A name that says what it is may also come from a clock, and be looked at before it is made.
  if (told == now ||
      (stretch > 0 && stretch <= kMostDrawn && recorded.find("tmp") != recorded.npos))
    return true;
  return creates && stretch >= kLeast && stretch <= kMostDrawn;
}

void SameNames::learn(std::string_view recorded, std::string_view now) {
  const std::string_view then = last_part(recorded), today = last_part(now);
  if (then == today || drawn_.size() >= kMost) return;
  drawn_.emplace_back(then, today);
}

}  // namespace deadheat::process::replay
