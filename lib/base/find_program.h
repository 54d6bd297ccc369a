// The file that a command runs.
#pragma once

#include <string>

namespace deadheat {

// The file that the shell would run for `name`: itself if it has a slash, else found in PATH; empty
// when there is none.
std::string find_program(const std::string& name);

}  // namespace deadheat
