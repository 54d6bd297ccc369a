// How two runs of one command ended, compared without any masking: their output, and every file
// that they changed, with its name, kind, permissions and content. Times are today's, and left out.
#pragma once

#include <string>

namespace deadheat::process::judge {

// Folders of runs (out, err, upper). Describes the first difference; empty: the ends are equal.
std::string first_difference(const std::string& one, const std::string& other);

}  // namespace deadheat::process::judge
