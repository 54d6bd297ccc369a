// Simplifies the module for the analysis without losing an access: stack slots become values, small
// functions are inlined (which is cheap context: wrappers of locks, allocators and accessors
// disappear), dead code stays.
#pragma once

#include "compiler/scan/models.h"
#include "compiler/scan/program.h"

namespace deadheat::scan {

struct PrepareOptions {
  unsigned inline_size = 40;       // instructions; 0: no inlining
  unsigned most_growth = 4;        // times the module's size
  unsigned largest_caller = 5000;  // instructions: larger functions take nothing in
};

void prepare(Program& program, const Models& models, const PrepareOptions& options);

}  // namespace deadheat::scan
