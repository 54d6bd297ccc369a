// Decides which of root's capabilities a command keeps.
#pragma once

#include <cstdint>

#include "lib/process/sandbox/permissions.h"

namespace deadheat::process::sandbox {

struct CapabilityBounds {
  Permissions allow;
  bool in_place = false;            // no sandbox: remove only those that reach the machine itself
  bool own_user_namespace = false;  // capabilities have no effect outside
  bool own_network = true;
};

// One bit per kept capability.
uint64_t kept_capabilities(const CapabilityBounds& bounds);

// Permanently limits what the calling process will execute. Its current capabilities remain until
// drop_capabilities(). Both are called in the child, before exec.
void bound_capabilities(uint64_t kept);
void drop_capabilities(uint64_t kept);

}  // namespace deadheat::process::sandbox
