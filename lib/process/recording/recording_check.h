// A recording is a folder that may come from another person. Before anything is run, written or
// deleted in it, its structure is checked: only plain files and folders, so that no name in it
// leads outside. Links are allowed among the recorded command's own files (checkpoint/ and upper/,
// which are only ever shown inside the sandbox) and between a recording and the recordings of its
// branches.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace deadheat::process::recording {

// Refuses links, devices, pipes, sockets and set-id files, and names the first.
Status check_recording(const std::string& folder);

// Also refuses a recording that another user could change while it is used.
Status check_own_recording(const std::string& folder);

}  // namespace deadheat::process::recording
