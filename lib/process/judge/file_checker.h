// Result files: changed, missing, empty, truncated or torn.
#pragma once

#include <vector>

#include "lib/process/judge/checkers.h"

namespace deadheat::process::judge {

// The words and numbers of a text, unordered: invariant when only the order of writers changes.
std::vector<std::string> words_in(const std::vector<std::string>& lines);

// At most one difference per file. `good` is not empty.
std::vector<Difference> judge_files(const std::vector<ChangedFile>& seen,
                                    const std::vector<const Outcome*>& good);

}  // namespace deadheat::process::judge
