// Ends a process's descendants where no namespace does.
#pragma once

namespace deadheat::process::sandbox {

// Kills and reaps every child of the caller repeatedly: as subreaper it inherits the grandchildren.
// No allocation: called from a signal handler.
void end_descendants();

}  // namespace deadheat::process::sandbox
