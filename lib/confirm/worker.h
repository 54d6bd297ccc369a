// A worker of a campaign on another machine. It takes requests from the shared folder, runs one at
// a time, and writes the results (job_files.h). It exits when told to, or after a minute without a
// heartbeat of the campaign.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::confirm {

Status work(const std::string& folder);

}  // namespace deadheat::confirm
