// Writes pairs as candidates in findings.json, and proven facts as facts.json.
#pragma once

#include "compiler/scan/names.h"
#include "compiler/scan/pairs.h"
#include "compiler/scan/program.h"
#include "lib/model/finding.h"

namespace deadheat::scan {

// One finding per pair of places; of pairs that differ only in their paths, the most likely.
model::FindingsFile to_findings(const Program& program, const std::vector<Pair>& pairs,
                                Names& names, Counters counters, const Contexts& contexts);

// Places proven race-free, with the reason, as JSON: for the compiler pass.
std::string to_facts(const Program& program, const AccessFinder& finder,
                     const std::map<const llvm::Instruction*, std::string>& safe, Names& names,
                     Counters& counters);

}  // namespace deadheat::scan
