// Converts findings files of earlier versions to the current model (docs/formats/findings.md has
// the table of versions).
#pragma once

#include <cstdint>

#include "lib/model/finding.h"

namespace deadheat::model {

void bring_up_to_date(FindingsFile& file, uint64_t version);

}  // namespace deadheat::model
