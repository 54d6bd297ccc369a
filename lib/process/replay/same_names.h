// Decides whether a name in a repeated run is the one that the recording has there.
//
// Names of temporary files are random; unless randomness was recorded, each run chooses new ones.
// Such a name is learnt when it is created: a call that only creates a new name was recorded with
// another name of the same length that differs in one stretch of letters and digits. From then on
// the two are the same in every call. Any other call must use the recorded name, or "file1" would
// pass for "file2". say what was recorded, or "file1" would pass for "file2".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadheat::process::replay {

class SameNames {
 public:
  // `creates`: both calls create a new name, or fail.
  bool same(std::string_view recorded, std::string_view now, bool creates) const;
  // Records that they were the same in such a call.
  void learn(std::string_view recorded, std::string_view now);

 private:
  static constexpr size_t kMost = 4096;  // names; beyond, calls with a new one do not match
  std::vector<std::pair<std::string, std::string>> drawn_;  // last components: recorded, now
};

}  // namespace deadheat::process::replay
