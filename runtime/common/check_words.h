// What inlined checks read (abi/checks.h), in every mode. Detect has its own (detect/threads.h);
// the others want to be called each time (check_words.cc).
#pragma once

#include "abi/checks.h"
#include "runtime/common/segment_map.h"

namespace deadheat::runtime {

// All addresses have the same cell here, which is empty.
extern char* no_cells[kSegments];
void start_no_cells();  // before the first check

}  // namespace deadheat::runtime
