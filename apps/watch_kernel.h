// deadheat watch --kernel
#pragma once

#include <string>
#include <vector>

#include "apps/output.h"

namespace deadheat::apps {

struct KernelWatch {
  std::vector<std::string> functions, modules;  // patterns
  double seconds = 0;
  double share = 0.03;
  double delay_ms = 0.1;
  uint64_t seed = 1;
  bool stop_at_first = false;
  std::string candidates;  // findings.json of another finder
  std::string vmlinux;     // image with debug information; empty: Debian's location
};

int watch_kernel(const KernelWatch& wanted, const OutputOptions& output);

}  // namespace deadheat::apps
