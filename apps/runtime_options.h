// --option KEY=VALUE: options that a verb passes to the runtime inside the program.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::apps {

// Accepts "key=value" with a key of the runtime.
Status check_runtime_option(const std::string& text);

}  // namespace deadheat::apps
