// A run of a program with the recording runtime: the environment that makes it write a trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::pipeline {

using Environment = std::map<std::string, std::string>;

// A trace at `path` is replaced; anything else there is an Error. `options`: "key=value" for the
// runtime. The runtime library must be there.
Result<Environment> prepare_recording(const std::string& path, std::vector<std::string> options);

}  // namespace deadheat::pipeline
