// A call as people read it: `rename("status.build", "status")`, `0`. Names as the program gave
// them, which is how its author knows them, also of what it opened itself; other descriptors are
// named by their object. Calls by their plain names: open for openat.
#pragma once

#include <string>
#include <vector>

#include "lib/process/effects/model.h"

namespace deadheat::process::findings {

struct CallText {
  std::string what;
  std::string result;  // "3", "ENOENT", "status 1"; empty: not of interest
};

CallText call_text(const recording::Recording& recording, const effects::Model& model,
                   uint32_t node);

// As one would type it, on one line: `sh -c 'make all'`.
std::string command_text(const std::vector<std::string>& words);

}  // namespace deadheat::process::findings
