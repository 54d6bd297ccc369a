// A value in a JSON document together with its path, so that an error can say where it is. Private
// to json_read.cc. The first problem is kept; after it, reads leave the defaults unchanged.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/base/text.h"
#include "lib/model/enum_names.h"

namespace deadheat::model {

class Cursor {
 public:
  using Json = nlohmann::json;

  Cursor(const Json& value, std::optional<Error>& problem) : value_(value), problem_(problem) {}

  const Json& value() const { return value_; }
  bool failed() const { return problem_.has_value(); }

  void fail(const std::string& what, const std::string& hint = "") const {
    if (failed()) return;
    const std::string place = path();
    problem_ = Error{(place.empty() ? "the document" : place) + ": " + what, hint};
  }

  // Calls read(Cursor) on the field if it exists; an error if it is required and missing.
  template <typename Read>
  void field(const char* key, Read read, bool required = false) const {
    if (failed()) return;
    const auto found = value_.find(key);
    if (found != value_.end()) return read(Cursor(*found, problem_, this, key, 0));
    if (required)
      fail("\"" + std::string(key) + "\" is missing", "add the field, or write the file anew");
  }

  // Calls read(Cursor) on each element of an array.
  template <typename Read>
  void each(Read read) const {
    if (!expect(value_.is_array(), "an array")) return;
    for (size_t i = 0; i < value_.size() && !failed(); ++i)
      read(Cursor(value_[i], problem_, this, nullptr, i));
  }

  // A cursor for an array element that was moved out of the document.
  static Cursor element(const char* array, size_t index, const Json& value,
                        std::optional<Error>& problem) {
    Cursor cursor(value, problem, nullptr, array, index);
    cursor.is_taken_out_ = true;
    return cursor;
  }

  bool array() const { return expect(value_.is_array(), "an array"); }
  bool object() const { return expect(value_.is_object(), "an object"); }

  void read(std::string& out) const {
    if (expect(value_.is_string(), "a string")) out = value_.get_ref<const std::string&>();
  }
  void read(bool& out) const {
    if (expect(value_.is_boolean(), "true or false")) out = value_.get<bool>();
  }
  template <typename Unsigned>
  void read_number(Unsigned& out) const {
    constexpr uint64_t kMost = std::numeric_limits<Unsigned>::max();
    const bool fits = value_.is_number_unsigned() && value_.get<uint64_t>() <= kMost;
    if (expect(fits, "an integer from 0 to " + std::to_string(kMost))) out = value_.get<Unsigned>();
  }
  // "0x1f" as text: JavaScript and others read JSON numbers as doubles, which hold only 53 bits.
  void read_hex(uint64_t& out) const {
    const bool is_text = value_.is_string();
    const std::string_view text =
        is_text ? std::string_view(value_.get_ref<const std::string&>()) : "";
    const bool good = text.starts_with("0x") && text.size() > 2 && text.size() <= 18 &&
                      text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
    if (expect(good, "an address such as \"0x4d2\""))
      out = std::stoull(std::string(text.substr(2)), nullptr, 16);
  }
  template <typename Enum>
  void read_name(Enum& out) const {
    std::string word;
    read(word);
    if (failed()) return;
    if (const auto parsed = parse_name<Enum>(word)) {
      out = *parsed;
      return;
    }
    std::vector<std::string> words(names<Enum>().begin(), names<Enum>().end());
    const std::string near = nearest(word, words);
    fail("\"" + shortened(word) + "\" is not one of " + join(words, ", "),
         near.empty() ? "" : "did you mean \"" + near + "\"?");
  }

 private:
  Cursor(const Json& value, std::optional<Error>& problem, const Cursor* parent, const char* key,
         size_t index)
      : value_(value), problem_(problem), parent_(parent), key_(key), index_(index) {}

  static std::string shortened(const std::string& word) {
    return word.size() > 40 ? word.substr(0, 40) + "..." : word;
  }

  bool expect(bool holds, const std::string& expected) const {
    if (failed()) return false;
    if (!holds) fail("expected " + expected + ", found " + found());
    return holds;
  }

  std::string found() const {
    if (value_.is_string()) return "\"" + shortened(value_.get_ref<const std::string&>()) + "\"";
    if (value_.is_structured()) return value_.is_array() ? "an array" : "an object";
    return value_.dump();
  }

  std::string path() const {
    if (is_taken_out_) return std::string(key_) + "[" + std::to_string(index_) + "]";
    if (parent_ == nullptr) return "";
    const std::string before = parent_->path();
    if (key_ == nullptr) return before + "[" + std::to_string(index_) + "]";
    return before.empty() ? key_ : before + "." + key_;
  }

  const Json& value_;
  std::optional<Error>& problem_;
  const Cursor* parent_ = nullptr;
  const char* key_ = nullptr;
  size_t index_ = 0;
  bool is_taken_out_ = false;
};

}  // namespace deadheat::model
