// Options that are meant for the runtime inside the program, not for a verb: they travel in
// DEADHEAT_OPTIONS. The table is runtime/common/options.def's; a test holds the names equal.
#pragma once

#include <string>
#include <vector>

namespace deadheat::pipeline {

const std::vector<std::string>& runtime_keys();  // as the runtime spells them: "history_size"

// What the program's DEADHEAT_OPTIONS should be: what the user's variable says to the runtime, then
// `settings` ("key=value" each), which win. Keys that only verbs know are left out: the runtime
// would warn about them.
std::string runtime_environment(const std::vector<std::string>& settings);

// The files that TSAN_OPTIONS names; the runtime cannot apply them, since it has no names.
std::vector<std::string> tsan_suppressions();

}  // namespace deadheat::pipeline
