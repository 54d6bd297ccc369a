#include "lib/live/log_symbolizer.h"

#include <charconv>
#include <optional>

#include "lib/base/text.h"
#include "lib/model/normalize.h"

namespace deadheat::live {
namespace {

struct LogFrame {
  std::string indent;
  uint64_t number = 0;
  std::string module, build_id;
  uint64_t offset = 0;
  std::string tail;  // "(module+0x1234) (BuildId: abcdef)", unchanged
};

bool take_number(std::string_view& text, uint64_t& value, int base) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  return true;
}

// Leave frames alone that already have a name: their writer knew more than we do.
std::optional<LogFrame> parse(std::string_view text) {
  LogFrame frame;
  const size_t hash = text.find_first_not_of(" \t");
  if (hash == std::string_view::npos || text[hash] != '#') return std::nullopt;
  frame.indent = std::string(text.substr(0, hash));
  text.remove_prefix(hash + 1);
  if (!take_number(text, frame.number, 10)) return std::nullopt;
  static constexpr std::string_view kUnnamed = " <null> <null> (";
  if (!text.starts_with(kUnnamed)) return std::nullopt;
  frame.tail = std::string(text.substr(kUnnamed.size() - 1));
  text.remove_prefix(kUnnamed.size());
  size_t close = text.find(") (BuildId: ");
  if (close == std::string_view::npos) close = text.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view place = text.substr(0, close);
  const size_t plus = place.rfind("+0x");
  if (plus == std::string_view::npos) return std::nullopt;
  frame.module = std::string(place.substr(0, plus));
  std::string_view digits = place.substr(plus + 3);
  if (!take_number(digits, frame.offset, 16) || !digits.empty()) return std::nullopt;
  std::string_view rest = text.substr(close);
  static constexpr std::string_view kBuild = ") (BuildId: ";
  if (rest.starts_with(kBuild)) {
    rest.remove_prefix(kBuild.size());
    frame.build_id = std::string(rest.substr(0, rest.find(')')));
  }
  return frame;
}

}  // namespace

std::string LogSymbolizer::line(std::string_view text) {
  const std::optional<LogFrame> frame = parse(text);
  if (!frame) {
    next_ = 0;
    return std::string(text) + "\n";
  }
  if (frame->number == 0) next_ = 0;
  ++frames_;
  const auto module = symbolizer_.module(frame->module, frame->build_id);
  const auto& found = symbolizer_.frames(module, frame->offset);
  const auto start = [&] { return frame->indent + "#" + std::to_string(next_++) + " "; };
  if (found.empty()) return start() + "<null> <null> " + frame->tail + "\n";
  ++named_;
  std::string out;
  for (const symbols::SourceFrame& one : found) {
    out += start() + (one.function.empty() ? "<null>" : one.function) + " ";
    out += one.file.empty() ? "<null>" : one.file;
    if (!one.file.empty() && one.line > 0) out += ":" + std::to_string(one.line);
    if (one.line > 0 && one.column > 0) out += ":" + std::to_string(one.column);
    out += " " + frame->tail + "\n";
  }
  return out;
}

}  // namespace deadheat::live
