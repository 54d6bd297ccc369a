// Whether a name that a repeated run uses is the one that the recording has there.
//
// Names of temporary files are drawn at random, and where randomness was not recorded they are
// drawn anew. Such a name is learnt where it comes into being: a call that makes a new name, and
// nothing else, was recorded with another one of the same length that differs in one stretch of
// letters and digits. From there on the two are the same, whoever says them. Any other call must
// say what was recorded, or "file1" would pass for "file2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadheat::process::replay {

class SameNames {
 public:
  // `creates`: both calls make a new name, or fail.
  bool same(std::string_view recorded, std::string_view now, bool creates) const;
  // They were the same in such a call.
  void learn(std::string_view recorded, std::string_view now);

 private:
  static constexpr size_t kMost = 4096;  // names; beyond, calls with a new one do not match
  std::vector<std::pair<std::string, std::string>> drawn_;  // last parts: then, now
};

// A call that makes a new name, or fails.
bool makes_new_name(uint32_t number, const uint64_t* arguments);

}  // namespace deadheat::process::replay
