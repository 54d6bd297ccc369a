// Who the processes of a sandbox are: with root themselves, otherwise the user in a user namespace.
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

// Root of the machine, with the right to mount. Root of a container often lacks it.
bool may_mount();

// In a new user namespace: maps the caller's former user and group, and no other.
Status map_own_identity(uid_t user, gid_t group);

// Why the kernel refused namespaces, and what the user can do.
Error namespaces_error(int error_number, bool user_namespace);
// The setting that prevents users from creating namespaces, if one does; otherwise empty.
std::string user_namespace_obstacle();

}  // namespace deadheat::process::sandbox
