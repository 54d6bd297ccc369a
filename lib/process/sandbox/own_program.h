// Keeps the tool's own program file out of a command's reach.
//
// The first process of a sandbox is a copy of the tool. A script inside that begins with
// "#!/proc/self/exe" therefore executes the machine's file of the tool, outside of any overlay, and
// a process that executes a file may change its mode and owner if it has the owner's rights: a
// hostile command of root could make the tool's program set-user-id or writable for all.
//
// The tool executes itself again: from a read-only mount of the one file where it may mount (root),
// otherwise from a sealed copy in memory. Every main function that starts sandboxes calls this
// first. Returns if there is nothing to do; an Error if the file stays within reach.
#pragma once

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

Status protect_own_program(char** words, char** environment);

}  // namespace deadheat::process::sandbox
