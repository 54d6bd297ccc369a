// Words as one would type them for a shell.
#pragma once

#include <string>
#include <vector>

namespace deadheat {

std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace deadheat
