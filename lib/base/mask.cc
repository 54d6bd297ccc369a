#include "lib/base/mask.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "lib/base/text.h"

namespace deadheat {
namespace {

constexpr size_t kShortestHex = 8;  // for digits without 0x: shorter ones may be words such as
                                    // "decade"

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool is_unit(std::string_view word) {
  for (const std::string_view unit : {"ns", "us", "ms", "s", "sec", "secs", "second", "seconds",
                                      "min", "msec", "usec", "\xc2\xb5s"})
    if (word == unit) return true;
  return false;
}

class Masker {
 public:
  Masker(std::string_view text, uint64_t pid) : text_(text), pid_(std::to_string(pid)) {
    if (pid == 0) pid_.clear();
  }

  std::string run() {
    while (at_ < text_.size()) {
      const bool begins = is_word(text_[at_]) && (at_ == 0 || !is_word(text_[at_ - 1]));
      if (begins && (hexadecimal() || clock() || duration() || process())) continue;
      out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  size_t end_of(size_t from, bool (*is)(char)) const {
    while (from < text_.size() && is(text_[from])) ++from;
    return from;
  }
  bool replace(size_t end, std::string_view by) {
    out_ += by;
    at_ = end;
    return true;
  }

  bool hexadecimal() {
    const bool prefixed = text_.substr(at_).starts_with("0x");
    const size_t end = end_of(at_ + (prefixed ? 2 : 0), is_hex);
    const std::string_view word = text_.substr(at_, end - at_);
    if (end < text_.size() && is_word(text_[end])) return false;
    if (prefixed) return word.size() > 2 && replace(end, "<hex>");
    const bool digits = std::any_of(word.begin(), word.end(), is_digit);
    const bool letters = !std::all_of(word.begin(), word.end(), is_digit);
    return word.size() >= kShortestHex && digits && letters && replace(end, "<hex>");
  }

  // 12:34, 12:34:56.789, 2:45:1, 2024-05-06, 2024-5-6; 1:2 is a ratio
  bool clock() {
    size_t end = end_of(at_, is_digit);
    size_t fields = 1;
    if (end == at_ || end == text_.size() || (text_[end] != ':' && text_[end] != '-')) return false;
    const char separator = text_[end];
    const size_t first = end - at_;
    bool wide = true;
    while (end < text_.size() && text_[end] == separator && (separator == ':' || fields < 3)) {
      const size_t next = end_of(end + 1, is_digit);
      const size_t width = next - end - 1;
      if (width == 0 || width > 2) break;
      wide = wide && width == 2;
      end = next;
      ++fields;
    }
    const bool time = separator == ':' && first <= 2 && fields >= (wide ? 2U : 3U);
    const bool date = separator == '-' && first == 4 && fields == 3;
    if (!time && !date) return false;
    if (time && end + 1 < text_.size() && text_[end] == '.') end = end_of(end + 1, is_digit);
    return replace(end, time ? "<time>" : "<date>");
  }

  // 1.25 ms, 3s
  bool duration() {
    size_t end = end_of(at_, is_digit);
    if (end == at_) return false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1]))
      end = end_of(end + 1, is_digit);
    if (end < text_.size() && text_[end] == ' ') ++end;
    const size_t last = end_of(end, [](char c) { return is_word(c) || (c & 0x80) != 0; });
    return is_unit(text_.substr(end, last - end)) && replace(last, "<duration>");
  }

  bool process() {
    const size_t end = end_of(at_, is_word);
    return !pid_.empty() && text_.substr(at_, end - at_) == pid_ && replace(end, "<pid>");
  }

  std::string_view text_;
  std::string pid_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string mask(std::string_view text, uint64_t pid, std::string_view folder) {
  std::string whole(text);
  for (size_t at = 0; !folder.empty() && (at = whole.find(folder, at)) != std::string::npos;)
    whole.replace(at, folder.size(), "<folder>");
  return Masker(whole, pid).run();
}

std::string sorted_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string_view line : lines)
    if (!line.empty()) (out += line) += '\n';
  return out;
}

}  // namespace deadheat
