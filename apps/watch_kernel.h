// deadheat watch --kernel
#pragma once

#include <string>

#include "apps/output.h"
#include "lib/sampler/session/kernel_session.h"

namespace deadheat::apps {

struct KernelWatch {
  sampler::KernelOptions session;
  std::string candidates;  // findings.json of another finder
  std::string vmlinux;     // image with debug information; empty: Debian's location
};

int watch_kernel(const KernelWatch& wanted, const OutputOptions& output);

}  // namespace deadheat::apps
