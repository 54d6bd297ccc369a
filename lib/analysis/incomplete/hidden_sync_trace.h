// Pairs of traces for evaluating RDIT: a complete one, and one of the same execution without the
// synchronisation inside randomly chosen classes of a library. As in rdit.txt section 4, whole
// classes are left out.
//
// The threads protect shared data through library calls (a lock acquired in one call and released
// in another, a mailbox, a flag) and sometimes not at all: those are the true races. In the
// incomplete trace a call into a left-out class is a region whose reachable set holds the
// synchronisation objects that it used, plus random others, some of them shared with other calls.
#pragma once

#include <cstdint>

#include "lib/analysis/memory_source.h"

namespace deadheat::analysis {

struct HiddenSyncTrace {
  Trace complete;
  Trace incomplete;
  size_t classes_left_out = 0;
  size_t regions = 0;
  size_t events_hidden = 0;
};

inline constexpr uint32_t kLibraryClasses = 32;

HiddenSyncTrace hidden_sync_trace(uint64_t seed, uint32_t classes_left_out);

}  // namespace deadheat::analysis
