// Writes JSON directly as text, in the format of nlohmann::json::dump(2).
//
// A value tree of one SARIF result has some hundred allocations, and with 100,000 results they were
// two thirds of the time. golden_test, report_test and json_test hold the text equal to a tree's,
// but for invisible characters: they are escaped, so that the text can be shown on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/invisible.h"
#include "lib/base/printable.h"

namespace deadheat {

class JsonText {
 public:
  // Appends to `out`, whose last line is indented by `level` steps.
  JsonText(std::string& out, size_t level) : out_(out), level_(level) {}

  JsonText& open(char bracket) {  // '{' or '['
    place();
    out_ += bracket;
    ++level_;
    empty_ = true;
    return *this;
  }
  JsonText& close(char bracket) {
    --level_;
    if (!empty_) new_line();
    out_ += bracket;
    empty_ = false;
    return *this;
  }
  JsonText& key(std::string_view name) {  // a key that needs no escapes
    place();
    out_ += '"';
    out_ += name;
    out_ += "\": ";
    has_key_ = true;
    return *this;
  }
  JsonText& text(std::string_view words) {
    place();
    out_ += '"';
    append_escaped(words);
    out_ += '"';
    return *this;
  }
  JsonText& number(uint64_t value) { return literal(std::to_string(value)); }
  JsonText& literal(std::string_view word) {
    place();
    out_ += word;
    return *this;
  }

 private:
  void new_line() {
    out_ += '\n';
    out_.append(2 * level_, ' ');
  }
  // Before a value or a key: after a key on its line, otherwise on a new line.
  void place() {
    if (has_key_ || first_) {
      has_key_ = first_ = false;
      return;
    }
    if (!empty_) out_ += ',';
    empty_ = false;
    new_line();
  }
  void append_escaped(std::string_view words) {
    size_t done = 0;
    for (size_t at = 0; at < words.size();) {
      const auto c = static_cast<unsigned char>(words[at]);
      if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
        ++at;
        continue;
      }
      uint32_t point = 0;
      const size_t length = c < 0x80 ? 0 : decode_utf8(words.substr(at), point);
      const bool escaped = c < 0x80 || (length > 0 && is_invisible(point) && point < 0x10000);
      if (length > 0 && !escaped) {
        at += length;
        continue;
      }
      out_ += words.substr(done, at - done);
      if (c < 0x80) point = c;
      escaped ? append_escape(point) : static_cast<void>(out_ += "\xef\xbf\xbd");
      done = at += length > 0 ? length : 1;
    }
    out_ += words.substr(done);
  }
  void append_escape(uint32_t point) {  // of the basic plane
    static constexpr std::string_view kLetters = "\b\t\n\f\r\"\\", kNames = "btnfr\"\\";
    out_ += '\\';
    const size_t at = point < 0x80 ? kLetters.find(static_cast<char>(point)) : kLetters.npos;
    if (at != kLetters.npos) {
      out_ += kNames[at];
      return;
    }
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += 'u';
    for (const int shift : {12, 8, 4, 0}) out_ += kDigits[(point >> shift) & 15];
  }

  std::string& out_;
  size_t level_;
  bool first_ = true, empty_ = false, has_key_ = false;
};

}  // namespace deadheat
