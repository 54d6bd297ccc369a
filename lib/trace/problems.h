// The messages about damage in a trace: the first few in full, the others as a count, so that a
// file of garbage cannot flood the screen or memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace deadheat::trace {

class Problems {
 public:
  static constexpr size_t kMaxLines = 16;

  void add(std::string line) {
    ++count_;
    if (lines_.size() < kMaxLines) {
      lines_.push_back(std::move(line));
    } else if (lines_.size() == kMaxLines) {
      lines_.emplace_back();
    }
    if (lines_.size() > kMaxLines) {
      lines_.back() = "and " + std::to_string(count_ - kMaxLines) + " more problems like these";
    }
  }
  // False once further lines would only be counted: callers need not build them.
  bool wants_text() const { return lines_.size() <= kMaxLines; }
  uint64_t count() const { return count_; }
  std::span<const std::string> lines() const { return lines_; }
  void clear() {
    count_ = 0;
    lines_.clear();
  }

 private:
  uint64_t count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace deadheat::trace
