// Go's own code, which is linked into every program of Go's as the C library is into a static one.
//
// The collector reads what the program writes, the scheduler and the locks look at words without an
// atomic instruction, and all of that is meant so: none of it is sampled, and whoever is met there
// is not reported (not_reported.h). What moves memory for the program is the program's doing.
#pragma once

#include <string_view>

namespace deadheat::sampler {

bool is_go_runtime(std::string_view function);
bool is_go_mover(std::string_view function);

}  // namespace deadheat::sampler
