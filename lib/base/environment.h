// The environment of a program that we start.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace deadheat {

// The variables of this process, overridden by `changed`, as NAME=VALUE.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed);

// The argument for execve; valid as long as `texts` is.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace deadheat
