// The planted race (compiler/verify/canary.c), run with a runtime to check that detection works.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace deadheat::apps {

// Nothing if the runtime in `folder` (empty: ours) reports the canary's race and not its twin's.
std::optional<Error> canary_problem(const std::string& folder);

}  // namespace deadheat::apps
