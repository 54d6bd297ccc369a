#include "lib/process/judge/run_mask.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

#include "lib/base/mask.h"

namespace deadheat::process::judge {
namespace {

constexpr int kSmallPid = 300;       // smaller numbers usually mean something else
constexpr size_t kRandomLength = 6;  // as chosen by mktemp and similar functions
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether a part of a name in /tmp looks random. `certain`: it is where libraries put random
// parts.
bool looks_random(std::string_view word, bool certain) {
  if (word.size() < kRandomLength) return false;
  bool digit = false, digit_before_letter = false;
  int changes = 0;  // between upper and lower case
  for (size_t i = 0; i < word.size(); ++i) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(word[i])) != 0;
    digit = digit || is_digit(word[i]);
    digit_before_letter = digit_before_letter || (digit && !is_digit(word[i]));
    const char before = i == 0 ? word[0] : word[i - 1];
    if (i > 0 && is_upper != (std::isupper(static_cast<unsigned char>(before)) != 0)) ++changes;
  }
  return digit_before_letter || changes >= (certain ? 1 : 3) || (certain && digit);
}

enum class Part { kTemporaryNames, kRest };

class Masker {
 public:
  Masker(std::string_view text, const RunMask& mask) : text_(text), mask_(mask) {}

  std::string run(Part part) {
    const bool names = part == Part::kTemporaryNames;
    while (at_ < text_.size()) {
      const bool begins = is_word(text_[at_]) && (at_ == 0 || !is_word(text_[at_ - 1]));
      if (!names && begins && (date() || process() || epoch())) continue;
      if (names && text_[at_] == '/' && temporary()) continue;
      out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  std::string_view word_at(size_t from) const {
    size_t end = from;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(from, end - from);
  }
  size_t skip_blanks(size_t from) const {
    while (from < text_.size() && text_[from] == ' ') ++from;
    return from;
  }

  // "Mon Nov 16 ...", "Nov 16", "16 Nov 2026"; a year that follows a time is masked too.
  bool date() {
    std::string_view word = word_at(at_);
    size_t end = at_ + word.size();
    if (is_one_of(word, kDays)) {
      if (end < text_.size() && text_[end] == ',') ++end;
      const size_t next = skip_blanks(end);
      const std::string_view month = word_at(next);
      if (!is_one_of(month, kMonths) && !number(month, 1, 31)) return false;
      const size_t before = at_;
      at_ = next;
      if (date()) return true;
      at_ = before;
      return false;
    }
    if (is_one_of(word, kMonths)) {
      const size_t next = skip_blanks(end);
      const std::string_view day = word_at(next);
      if (!number(day, 1, 31)) return false;
      return replace_date(next + day.size());
    }
    if (!number(word, 1, 31)) return false;
    const size_t next = skip_blanks(end);
    const std::string_view month = word_at(next);
    return next > end && is_one_of(month, kMonths) && replace_date(next + month.size());
  }
  bool replace_date(size_t end) {
    // "<time> UTC 2026" or " 2026" may follow.
    size_t next = skip_blanks(end);
    if (text_.substr(next).starts_with("<time>")) {
      size_t after = skip_blanks(next + 6);
      const std::string_view zone = word_at(after);
      if (zone.size() >= 2 && zone.size() <= 5 &&
          std::all_of(zone.begin(), zone.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
        after = skip_blanks(after + zone.size());
      end = number(word_at(after), 1970, 2999) ? after + 4 : next + 6;
    } else if (number(word_at(next), 1970, 2999)) {
      end = next + 4;
    }
    out_ += "<date>";
    at_ = end;
    return true;
  }

  static bool number(std::string_view word, int64_t least, int64_t most) {
    int64_t value = 0;
    if (word.empty() || std::from_chars(word.data(), word.data() + word.size(), value).ptr !=
                            word.data() + word.size())
      return false;
    return value >= least && value <= most;
  }

  bool process() {
    const std::string_view word = word_at(at_);
    if (!number(word, 1, 1 << 22)) return false;
    int value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    const bool ours = std::find(mask_.pids.begin(), mask_.pids.end(), value) != mask_.pids.end();
    if (!(ours && value >= kSmallPid) && !said_to_be_process(word.size())) return false;
    out_ += "<pid>";
    at_ += word.size();
    return true;
  }
  // "name[12]", "pid 12", "pid=12", "process 12"
  bool said_to_be_process(size_t size) const {
    const std::string_view before = text_.substr(0, at_);
    const bool closed = at_ + size < text_.size() && text_[at_ + size] == ']';
    if (closed && before.size() >= 2 && before.back() == '[' && is_word(before[before.size() - 2]))
      return true;
    size_t end = before.size();
    while (end > 0 && (before[end - 1] == ' ' || before[end - 1] == '=' || before[end - 1] == ':'))
      --end;
    if (end == before.size()) return false;
    size_t begin = end;
    while (begin > 0 && std::isalpha(static_cast<unsigned char>(before[begin - 1])) != 0) --begin;
    std::string word(before.substr(begin, end - begin));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word == "pid" || word == "ppid" || word == "process";
  }

  // Seconds since 1970, possibly with a fraction.
  bool epoch() {
    const std::string_view word = word_at(at_);
    int64_t value = 0;
    if (word.size() != 10 || !number(word, 1, 4102444800)) return false;
    std::from_chars(word.data(), word.data() + word.size(), value);
    const bool seen = std::any_of(
        mask_.times.begin(), mask_.times.end(),
        [&](const TimeWindow& window) { return value >= window.from_s && value <= window.to_s; });
    if (!seen) return false;
    at_ += word.size();
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1]))
      at_ += 1 + word_at(at_ + 1).size();
    out_ += "<time>";
    return true;
  }

  // Replaces the random part of the name in /tmp/NAME and /var/tmp/NAME.
  bool temporary() {
    size_t end = 0;
    for (const std::string_view folder : {"/tmp/", "/var/tmp/"})
      if (text_.substr(at_).starts_with(folder)) end = at_ + folder.size();
    if (end == 0) return false;
    for (const std::string& name : mask_.lasting) {
      const size_t after = at_ + name.size();
      if (!text_.substr(at_).starts_with(name) || (after < text_.size() && is_word(text_[after])))
        continue;
      out_ += name;
      at_ = after;
      return true;
    }
    out_ += text_.substr(at_, end - at_);
    at_ = end;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || text_[at_] == '-')) {
      std::string_view word = word_at(at_);
      if (word.empty()) {
        out_ += text_[at_++];
        continue;
      }
      size_t fixed = 0;  // prefix added by libraries: tmpab12cd34, ccQx81Zk.o
      for (const auto& [prefix, size] : {std::pair<std::string_view, size_t>{"tmp", 8}, {"cc", 6}})
        if (word.starts_with(prefix) && word.size() == prefix.size() + size) fixed = prefix.size();
      const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
      if (looks_random(word.substr(fixed), fixed != 0 || after_dot)) {
        out_ += word.substr(0, fixed);
        out_ += "<temp>";
      } else {
        out_ += word;
      }
      at_ += word.size();
    }
    return true;
  }

  std::string_view text_;
  const RunMask& mask_;
  std::string out_;
  size_t at_ = 0;
};

}  // namespace

std::string mask_run_path(std::string_view path, const RunMask& mask) {
  const std::string names = Masker(path, mask).run(Part::kTemporaryNames);
  return Masker(names, mask).run(Part::kRest);
}

std::string mask_run_text(std::string_view text, const RunMask& mask) {
  const std::string names = Masker(text, mask).run(Part::kTemporaryNames);
  // The second pass needs the <time> marks of the first.
  return Masker(deadheat::mask(names, 0, ""), mask).run(Part::kRest);
}

std::string mask_run_bytes(std::string bytes, const RunMask& mask) {
  for (size_t at = 0; !mask.times.empty() && at + 4 <= bytes.size(); ++at) {
    uint32_t little = 0;
    std::memcpy(&little, &bytes[at], sizeof little);
    const uint32_t big = __builtin_bswap32(little);
    for (const TimeWindow& window : mask.times)
      if ((little >= window.from_s && little <= window.to_s) ||
          (big >= window.from_s && big <= window.to_s))
        std::memset(&bytes[at], 0, sizeof little);
  }
  return bytes;
}

}  // namespace deadheat::process::judge
