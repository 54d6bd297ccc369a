// JSON written straight to its text, in the form of nlohmann::json::dump(2).
//
// A value tree of one SARIF result has some hundred allocations, and with 100,000 results they were
// two thirds of the time. golden_test and report_test hold the text equal to a tree's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/printable.h"

namespace deadheat::report {

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
  JsonText& key(std::string_view name) {  // one that needs no escapes
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
  // Before a value or a key: after a key on its line, else on a line of its own.
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
      if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
        ++at;
        continue;
      }
      uint32_t point = 0;
      const size_t length = c < 0x80 ? 0 : decode_utf8(words.substr(at), point);
      if (length > 0) {
        at += length;
        continue;
      }
      out_ += words.substr(done, at - done);
      c < 0x80 ? append_escape(c) : static_cast<void>(out_ += "\xef\xbf\xbd");
      done = ++at;
    }
    out_ += words.substr(done);
  }
  void append_escape(unsigned char c) {
    static constexpr std::string_view kLetters = "\b\t\n\f\r\"\\", kNames = "btnfr\"\\";
    out_ += '\\';
    if (const size_t at = kLetters.find(static_cast<char>(c)); at != std::string_view::npos) {
      out_ += kNames[at];
      return;
    }
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += "u00";
    out_ += kDigits[c >> 4];
    out_ += kDigits[c & 15];
  }

  std::string& out_;
  size_t level_;
  bool first_ = true, empty_ = false, has_key_ = false;
};

}  // namespace deadheat::report
