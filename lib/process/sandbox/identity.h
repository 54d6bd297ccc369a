// Who the processes of a sandbox are: with root themselves, otherwise the user in a user namespace.
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

// Root of the machine that may mount. Root of a container often may not.
bool may_mount();

// In a new user namespace: the user and group that the caller was outside, and no other.
Status map_own_identity(uid_t user, gid_t group);

// Why the kernel refused namespaces, and what can be done.
Error namespaces_error(int error_number, bool user_namespace);
// The setting that keeps users from namespaces, if one does; else empty.
std::string user_namespace_obstacle();

}  // namespace deadheat::process::sandbox
