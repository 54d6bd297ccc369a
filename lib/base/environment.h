// What a program that we start is given.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace deadheat {

// The variables of this process, with `changed` over them, as NAME=VALUE.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changed);

// For execve: valid as long as `texts` is.
std::vector<char*> pointers(std::vector<std::string>& texts);

}  // namespace deadheat
