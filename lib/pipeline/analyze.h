// Runs a trace through one engine, to findings with names.
#pragma once

#include <cstdint>
#include <string>

#include "lib/analysis/engine.h"
#include "lib/base/result.h"
#include "lib/model/finding.h"

namespace deadheat::pipeline {

struct AnalyzeOptions {
  std::string trace;  // a path; - for standard input
  analysis::Options engine;
  uint64_t jobs = 0;  // 1: read and analyse in one thread
  bool ignore_gaps = false;
};

Result<model::FindingsFile> analyze(const AnalyzeOptions& options);

}  // namespace deadheat::pipeline
