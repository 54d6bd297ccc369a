// The namespaces that the command of root's sandbox lives in: a user namespace in which every id of
// the machine is itself, and what belongs to it: network, System V objects, host name.
//
// Root in there is root for its files, processes and ports, but an ordinary user for the kernel: a
// call that requires a capability of the machine fails. The mounts are not part of it: they belong
// to the sandbox's first process, which stays the machine's root; no one inside can change them.
#pragma once

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {

struct CommandNamespaces {
  ScopedFd user, network, objects, names;  // network: none if the machine's is used
};

struct CommandNamespacesRequest {
  bool own_network = true;
  bool may_nest = false;  // user namespaces inside it
};

// The creating process has ended when this returns. Requires the machine's root.
Result<CommandNamespaces> make_command_namespaces(const CommandNamespacesRequest& request);

// Some limits count all of a user's objects on the machine, in whatever namespace they were made:
// inotify instances, 128 by default. Half of them stays with programs outside of the caller's
// user namespace.
void leave_counts_to_others();

// Prevents processes in the caller's user namespace from creating others; false: failed.
bool forbid_user_namespaces();

}  // namespace deadheat::process::sandbox
