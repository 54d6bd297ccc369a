// The changes of a sandboxed command below one mount of the machine: an overlay's upper folder.
#pragma once

#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

struct UpperFolder {
  std::string point;  // where it is mounted: "/", "/home"
  ScopedFd folder;
};

}  // namespace deadheat::process::sandbox
