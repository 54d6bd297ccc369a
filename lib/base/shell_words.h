// Quotes words as one would type them in a shell.
#pragma once

#include <string>
#include <vector>

namespace deadheat {

std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace deadheat
