#include "lib/hive/http/message.h"

#include <string_view>

#include "lib/base/text.h"

namespace deadheat::hive::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> parse_query(const std::string& text) {
  std::map<std::string, std::string> all;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    all[decoded(part.substr(0, equals))] =
        equals == std::string_view::npos ? "" : decoded(part.substr(equals + 1));
  }
  return all;
}

void set_target(Request& request, const std::string& target) {
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == std::string::npos ? std::map<std::string, std::string>()
                                            : parse_query(target.substr(mark + 1));
}

std::string url_encoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
    if (plain) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Url parse_url(const std::string& text) {
  Url url;
  url.secure = text.starts_with("https://");
  if (!url.secure && !text.starts_with("http://")) return {};
  std::string rest = text.substr(url.secure ? 8 : 7);
  const size_t slash = rest.find('/');
  if (slash != std::string::npos) {
    url.path = rest.substr(slash);
    rest.resize(slash);
  }
  while (url.path.ends_with('/')) url.path.pop_back();
  size_t colon = rest.rfind(':');
  if (colon != std::string::npos && rest.find(']', colon) != std::string::npos)
    colon = std::string::npos;  // of an IPv6 address
  url.host = rest.substr(0, colon);
  url.port = colon == std::string::npos ? (url.secure ? "443" : "80") : rest.substr(colon + 1);
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  return url;
}

}  // namespace deadheat::hive::http
