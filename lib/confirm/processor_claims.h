// Chooses the processors to which the traced runs of a campaign are pinned.
//
// Concurrent campaigns use different processors as long as there are enough. Each campaign claims
// its processors machine-wide by binding a Unix socket to an abstract name, which the kernel
// releases when the process ends for any reason. If all are claimed, processors are shared evenly.
// A claim is advisory, and it is invisible in other network namespaces.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/base/scoped_fd.h"

namespace deadheat::confirm {

class ProcessorClaims {
 public:
  // Claims `wanted` of the allowed processors; 0, or more than there are: all.
  ProcessorClaims(const std::vector<int>& allowed, size_t wanted);
  const std::vector<int>& processors() const { return processors_; }

 private:
  bool claim(int processor, int level);

  std::vector<int> processors_;
  std::vector<ScopedFd> claims_;
};

}  // namespace deadheat::confirm
