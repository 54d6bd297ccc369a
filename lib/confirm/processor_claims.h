// Which processors the traced runs of a campaign are pinned to.
//
// Campaigns beside each other take different ones as long as there are enough: each claims its
// processors machine-wide, by a Unix socket bound to an abstract name, which the kernel gives back
// when the process ends, however it ends. Where all are claimed, processors are shared evenly. A
// claim excludes nobody; in other network namespaces it is not seen.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/base/scoped_fd.h"

namespace deadheat::confirm {

class ProcessorClaims {
 public:
  // `wanted` of those allowed; 0, or more than there are: all.
  ProcessorClaims(const std::vector<int>& allowed, size_t wanted);
  const std::vector<int>& processors() const { return processors_; }

 private:
  bool claim(int processor, int level);

  std::vector<int> processors_;
  std::vector<ScopedFd> claims_;
};

}  // namespace deadheat::confirm
