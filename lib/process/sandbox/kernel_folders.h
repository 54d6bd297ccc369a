// /proc, /dev and /sys of a sandbox.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/process/sandbox/sandbox_root.h"

namespace deadheat::process::sandbox {

// Below `root`; the old tree is still in place. `old_sys` is the machine's /sys, which is covered
// by another mount; `shared` becomes /dev/shm.
Status mount_kernel_folders(const std::string& root, const std::string& shared, bool own_network,
                            int old_sys, SandboxRoot& result);
// A /proc for the calling process's PID namespace.
Status mount_proc(const std::string& root, SandboxRoot& result);
// Also disables set-user-id programs below it; `devices`: device nodes still work.
bool make_read_only(const std::string& mounted, bool devices = false);

}  // namespace deadheat::process::sandbox
