#include "lib/base/printable.h"

#include <cstdio>

#include "lib/base/invisible.h"

namespace deadheat {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string visible(uint32_t point) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, point < 0x100 ? "\\x%02x" : "\\u{%x}", point);
  return buffer;
}

std::string cleaned(std::string_view text, bool keep_layout) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode_utf8(text, point);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    if (keep_layout && (point == '\n' || point == '\t')) {
      out += static_cast<char>(point);
    } else if (point == '\t') {
      out += ' ';
    } else if (is_invisible(point)) {
      out += visible(point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

size_t decode_utf8(std::string_view text, uint32_t& point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  point = length == 1 ? lead : lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return overlong || surrogate || point > 0x10ffff ? 0 : length;
}

std::string printable(std::string_view text) { return cleaned(text, false); }

std::string printable_lines(std::string_view text) { return cleaned(text, true); }

}  // namespace deadheat
