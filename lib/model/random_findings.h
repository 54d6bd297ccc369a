// Random findings files for tests: every field is set sometimes, every enumerator occurs, and every
// file is valid (check()).
#pragma once

#include <string>

#include "lib/base/random.h"
#include "lib/model/finding.h"

namespace deadheat::model {

class RandomFindings {
 public:
  explicit RandomFindings(uint64_t seed) : random_(seed) {}

  FindingsFile file();
  Finding finding();
  Evidence evidence(size_t roles, std::string id);
  Suspicion suspicion(size_t roles, std::string id);
  Reproducer reproducer();
  Site site();

 private:
  template <typename Enum>
  Enum any(size_t count = static_cast<size_t>(Enum::kCount)) {
    return static_cast<Enum>(random_.below(count));
  }
  bool often() { return random_.chance(0.7); }
  std::string text();  // sometimes empty, sometimes hostile: quotes, control characters, UTF-8
  uint64_t number();   // small, or of any size up to 2^64 - 1
  std::vector<std::string> texts();
  Access access();
  Story story();

  Random random_;
  uint64_t next_id_ = 0;
};

}  // namespace deadheat::model
