// The planted race (compiler/verify/canary.c), run through a runtime to see whether it is alive.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace deadheat::apps {

// Nothing when the runtime in `folder` (empty: ours) reports the canary's race and not its twin's.
std::optional<Error> canary_problem(const std::string& folder);

}  // namespace deadheat::apps
