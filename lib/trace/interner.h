// Gives each distinct text a dense number. Open addressing over 64-bit hashes, texts in one arena.
//
// The naive version is unordered_map<string, uint32_t>; this one allocates nothing per lookup and
// touches one cache line of the table and one of the arena. Bounded: beyond `max_texts` or
// `max_bytes` intern() returns kFull.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace deadheat::trace {

inline uint64_t mix(uint64_t a, uint64_t b) {
  const __uint128_t product = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15ULL ^ text.size();
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    hash = mix(hash ^ word, 0xa0761d6478bd642fULL);
  }
  uint64_t tail = 0;
  if (left != 0) std::memcpy(&tail, p, left);
  return mix(hash ^ tail, 0xe7037ed1a0b428dbULL);
}

class TextInterner {
 public:
  static constexpr uint32_t kFull = 0xffffffffU;

  explicit TextInterner(uint64_t max_texts = 1U << 31, uint64_t max_bytes = 1ULL << 36)
      : max_texts_(max_texts), max_bytes_(max_bytes), cells_(1024) {}

  uint32_t intern(std::string_view text) {
    const uint64_t hash = hash_text(text);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & (cells_.size() - 1);
    for (; cells_[at].number != 0; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].tag == tag && this->text(cells_[at].number - 1) == text)
        return cells_[at].number - 1;
    }
    if (starts_.size() >= max_texts_ || arena_.size() + text.size() > max_bytes_) return kFull;
    const auto number = static_cast<uint32_t>(starts_.size());
    starts_.push_back(arena_.size());
    arena_.insert(arena_.end(), text.begin(), text.end());
    cells_[at] = {tag, number + 1};
    if (starts_.size() * 2 > cells_.size()) grow();
    return number;
  }

  std::string_view text(uint32_t number) const {
    const size_t begin = starts_[number];
    const size_t end = number + 1 < starts_.size() ? starts_[number + 1] : arena_.size();
    return {arena_.data() + begin, end - begin};
  }
  size_t size() const { return starts_.size(); }

 private:
  struct Cell {
    uint32_t tag = 0;
    uint32_t number = 0;  // + 1; 0: empty
  };
  void grow() {
    cells_.assign(cells_.size() * 2, Cell{});
    for (uint32_t number = 0; number < starts_.size(); ++number) {
      const uint64_t hash = hash_text(text(number));
      size_t at = hash & (cells_.size() - 1);
      while (cells_[at].number != 0) at = (at + 1) & (cells_.size() - 1);
      cells_[at] = {static_cast<uint32_t>(hash >> 32), number + 1};
    }
  }

  uint64_t max_texts_, max_bytes_;
  std::vector<Cell> cells_;
  std::vector<size_t> starts_;
  std::vector<char> arena_;
};

}  // namespace deadheat::trace
