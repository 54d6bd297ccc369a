// Ending what a process started, where no namespace does it.
#pragma once

namespace deadheat::process::sandbox {

// Kills and reaps every child of the caller, again and again: as subreaper it inherits the
// grandchildren. No allocation: called from a signal handler.
void end_descendants();

}  // namespace deadheat::process::sandbox
