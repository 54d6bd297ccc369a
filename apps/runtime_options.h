// --option KEY=VALUE: what a verb passes on to the runtime inside the program.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::apps {

// "key=value" with a key that the runtime has.
Status check_runtime_option(const std::string& text);

}  // namespace deadheat::apps
