#include "lib/report/clean_text.h"

#include <cstdint>
#include <cstdio>

#include "lib/base/printable.h"

namespace deadheat::report {
namespace {

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

size_t cells_of(uint32_t point) { return point < 0x80 ? 1 : 2; }

}  // namespace

std::string clean(std::string_view text) { return printable(text); }

size_t width(std::string_view text) {
  size_t cells = 0;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode_utf8(text, point);
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
    const size_t length = decode_utf8(text.substr(head), point);
    used += length == 0 ? 2 : cells_of(point);
    if (used > head_cells) break;
    head += length == 0 ? 1 : length;
  }
  size_t tail = text.size();
  for (size_t used = 0; tail > head;) {
    size_t start = tail - 1;
    while (start > head && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
    uint32_t point = 0;
    const size_t length = decode_utf8(text.substr(start), point);
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
