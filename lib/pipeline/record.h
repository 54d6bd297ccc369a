// The environment for a run with the recording runtime, which makes the program write a trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::pipeline {

using Environment = std::map<std::string, std::string>;

// Replaces a trace at `path`; anything else there is an Error. `options`: "key=value" for the
// runtime. The runtime library must exist.
Result<Environment> prepare_recording(const std::string& path, std::vector<std::string> options);

}  // namespace deadheat::pipeline
