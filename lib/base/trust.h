// Decides whether a file can be trusted. A file may decide what runs with the user's rights:
// settings, checkers, the program of a finding. So its content is used only if nobody but the user
// and root could have written it. git does the same for repositories (safe.directory), ssh for
// keys.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat {

// Why another user may have written the content of `path`, worded to follow the path ("belongs to
// user eve"). Empty if the file belongs to the user or to root and no one else can write or replace
// it, because the same holds for every folder above it. A folder with the sticky bit may be
// writable by all (as /tmp is): others cannot replace files there. The user's own group may write.
std::string distrust(const std::string& path);

// Refuses a checker (a shell command line) whose code another user could have written: its program,
// every executable file that it names, and the script given to an interpreter. Shell quoting and
// expansions are not interpreted, so code named through them is not checked. An empty command means
// no checker.
Status check_checker(const std::string& command);

}  // namespace deadheat
