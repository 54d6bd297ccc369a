// Whose file is it? What a file says may decide what runs with your rights: settings, checkers, the
// program of a finding. So it counts only if nobody but you and root could have written it, as git
// does for repositories (safe.directory) and ssh for its keys.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat {

// Why the content of `path` may be another user's, in words that follow the path ("belongs to user
// eve"); empty: it is your own or root's, and nobody else may write it or replace it, because the
// same holds for every folder above it. A folder with the sticky bit may be writable (as /tmp is):
// others cannot replace your file there. Your own group may write.
std::string distrust(const std::string& path);

// Refuses a checker (a command line, as a shell reads it) whose code another user could have
// written: its program, every executable file that it names, and the script that an interpreter is
// given. Quoting and expansions of the shell are not understood: code that is named in such a way
// is not looked at. An empty command is no checker.
Status check_checker(const std::string& command);

}  // namespace deadheat
