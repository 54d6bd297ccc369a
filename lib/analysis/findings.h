// Converts an engine's report to findings: candidates with their evidence.
#pragma once

#include "lib/analysis/engine.h"
#include "lib/model/finding.h"

namespace deadheat::analysis {

struct TraceIdentity {
  std::string path;    // as given by the user
  std::string digest;  // names the execution: two analyses of one trace are one execution
  std::string repeat;  // the command that finds it again
  std::vector<std::string> arguments;
};

std::string engine_name(
    const Options& options);  // "hb", "hybrid --edges=paper", "rdit --missing=naive"
model::FindingsFile to_findings(const Report& report, const Options& options,
                                const trace::Source& source, const TraceIdentity& identity);

}  // namespace deadheat::analysis
