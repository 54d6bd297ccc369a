// What a sandboxed command changed below one mount of the machine: an overlay's upper folder.
#pragma once

#include <string>

#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

struct UpperFolder {
  std::string point;  // where it is laid over: "/", "/home"
  ScopedFd folder;
};

}  // namespace deadheat::process::sandbox
