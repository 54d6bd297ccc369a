// Collisions in the kernel as findings. Names come from kallsyms: function and offset, and lines
// where the image with debug information is there; an instruction without lock may be READ_ONCE or
// an atomic in the source, so all are of kind collision and none is ever called a race.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/model/finding.h"
#include "lib/sampler/findings/findings.h"
#include "lib/sampler/kernel/kernel_session.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {

// The source line of a place in the kernel's image, counted from _text: in the function that
// kallsyms names, not in functions inlined into it.
using KernelLines = std::function<std::optional<symbols::SourceFrame>(uint64_t offset)>;
KernelLines lines_of_image(symbols::Symbolizer& symbolizer, const std::string& path,
                           const std::string& build_id);

// The kernel's `build_id` may be empty, and so may `lines`.
model::FindingsFile kernel_findings(const KernelResult& result, const KernelSymbols& symbols,
                                    const WatchIdentity& identity, const std::string& build_id,
                                    const KernelLines& lines = {});

// From /sys/kernel/notes; empty if absent.
std::string build_id_of_notes(std::string_view notes);

}  // namespace deadheat::sampler
