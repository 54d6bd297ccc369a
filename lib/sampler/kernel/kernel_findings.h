// Collisions in the kernel as findings. Names come from kallsyms: function and offset, no lines; an
// instruction without lock may be READ_ONCE or an atomic in the source, so all are of kind
// collision and none is ever called a race.
#pragma once

#include <string>

#include "lib/model/finding.h"
#include "lib/sampler/findings.h"
#include "lib/sampler/kernel/kernel_session.h"

namespace deadheat::sampler {

model::FindingsFile kernel_findings(const KernelResult& result, const KernelSymbols& symbols,
                                    const WatchIdentity& identity,
                                    const std::string& build_id);  // of the kernel; may be empty

// Out of /sys/kernel/notes; empty when it is not there.
std::string build_id_of_notes(std::string_view notes);

}  // namespace deadheat::sampler
