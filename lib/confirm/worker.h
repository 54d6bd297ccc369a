// A worker of a campaign on another machine: takes requests from the folder that they share, runs
// one at a time, and says what came of it (job_files.h). It leaves when it is told to, and when the
// campaign has not been heard of for a minute.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::confirm {

Status work(const std::string& folder);

}  // namespace deadheat::confirm
