// After the search, and after the trials: what of their results a report shows, and what was left
// out.
#pragma once

#include "lib/model/finding.h"
#include "lib/pipeline/find.h"

namespace deadheat::pipeline {

// Counts the steps of the search, and the candidates, for which there was no time.
void count_not_done(Found& found);

// Both orders of two locks or atomics are legal: drops those that never failed, and counts them.
void drop_harmless_orders(model::FindingsFile& file);

}  // namespace deadheat::pipeline
