// Options for the runtime inside the program rather than for a verb; they are passed in
// DEADHEAT_OPTIONS. The table is that of runtime/common/options.def; a test compares the names.
#pragma once

#include <string>
#include <vector>

namespace deadheat::pipeline {

const std::vector<std::string>& runtime_keys();  // as the runtime spells them: "history_size"

// The DEADHEAT_OPTIONS of the program: the runtime options of the user's variable, then `settings`
// ("key=value" each), which take precedence. Keys that only verbs know are omitted, because the
// runtime would warn about them.
std::string runtime_environment(const std::vector<std::string>& settings);

// The suppression files named in TSAN_OPTIONS. The runtime cannot apply them, since it has no
// symbols.
std::vector<std::string> tsan_suppressions();

}  // namespace deadheat::pipeline
