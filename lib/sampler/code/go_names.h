// Go's own code, which is linked into every Go program as the C library is into a static one.
//
// The collector reads what the program writes, and the scheduler and the locks read words without
// an atomic instruction; all this is intended. This code is not sampled, and collisions with it are
// not reported (not_reported.h). Memory moved for the program counts as the program's access.
#pragma once

#include <string_view>

namespace deadheat::sampler {

bool is_go_runtime(std::string_view function);
bool is_go_mover(std::string_view function);

}  // namespace deadheat::sampler
