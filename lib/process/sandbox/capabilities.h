// Which of root's capabilities a command keeps.
#pragma once

#include <cstdint>

#include "lib/process/sandbox/permissions.h"

namespace deadheat::process::sandbox {

struct CapabilityBounds {
  Permissions allow;
  bool in_place = false;            // no sandbox: only what would reach the machine itself goes
  bool own_user_namespace = false;  // capabilities count for nothing outside
  bool own_network = true;
};

// A bit for each that stays.
uint64_t kept_capabilities(const CapabilityBounds& bounds);

// For all that the calling process will execute, for good. What it has now, it keeps until
// drop_capabilities(). Both are for the child, before exec.
void bound_capabilities(uint64_t kept);
void drop_capabilities(uint64_t kept);

}  // namespace deadheat::process::sandbox
