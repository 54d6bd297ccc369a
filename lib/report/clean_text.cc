#include "lib/report/clean_text.h"

#include <cstdint>
#include <cstdio>

namespace deadheat::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

// Length of the well-formed UTF-8 sequence at the front of `text` and its code point; 0 when
// malformed.
size_t decode(std::string_view text, uint32_t& point) {
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

// Code points that change how the text around them is shown, or that XML forbids.
bool is_invisible(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
         point == 0xfeff || (point & 0xfffe) == 0xfffe;
}

std::string visible(uint32_t point) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, point < 0x100 ? "\\x%02x" : "\\u{%x}", point);
  return buffer;
}

size_t cells_of(uint32_t point) { return point < 0x80 ? 1 : 2; }

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode(text, point);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    if (point == '\t') {
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

size_t width(std::string_view text) {
  size_t cells = 0;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode(text, point);
    cells += length == 0 ? 2 : cells_of(point);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return cells;
}

std::string clip(std::string_view text, size_t cells) {
  if (text.size() <= cells || width(text) <= cells) return std::string(text);
  const size_t keep = cells > 2 ? cells - 2 : 0;  // the ellipsis counts as two
  const size_t head_cells = keep - keep / 2;
  size_t head = 0;
  for (size_t used = 0; head < text.size();) {
    uint32_t point = 0;
    const size_t length = decode(text.substr(head), point);
    used += length == 0 ? 2 : cells_of(point);
    if (used > head_cells) break;
    head += length == 0 ? 1 : length;
  }
  size_t tail = text.size();
  for (size_t used = 0; tail > head;) {
    size_t start = tail - 1;
    while (start > head && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
    uint32_t point = 0;
    const size_t length = decode(text.substr(start), point);
    used += length == 0 ? 2 : cells_of(point);
    if (used > keep / 2) break;
    tail = start;
  }
  return std::string(text.substr(0, head)) + std::string(kEllipsis) +
         std::string(text.substr(tail));
}

std::string clean_name(std::string_view text) {
  // A hostile name may be gigabytes: only its ends can survive the clip, so only its ends are
  // cleaned.
  constexpr size_t kEnough = 8 * kLongestName;
  if (text.size() > 2 * kEnough) {
    std::string ends(text.substr(0, kEnough));
    ends += text.substr(text.size() - kEnough);
    return clip(clean(ends), kLongestName);
  }
  return clip(clean(text), kLongestName);
}

std::string html_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string uri_escape(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '-' || c == '.' || c == '_' || c == '~' || c == '+';
    if (plain) {
      out += c;
      continue;
    }
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%%%02X", static_cast<unsigned char>(c));
    out += buffer;
  }
  return out;
}

}  // namespace deadheat::report
