// The start state of a recording: the files that it opened or inspected, including programs and
// libraries, with the folders and links on the way to them. They are copied into the recording, so
// that it can be run after the machine has changed, or on another machine.
//
// A later run lays the copies over the machine's files only if those have changed. Names that a
// recording looked for and did not find are not stored: a file that has appeared since is visible
// to the replay, and shows as a divergence.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

struct CheckpointOptions {
  // Limits for copies. Files beyond them are only listed: a change is detected.
  uint64_t most_opened = 1ULL << 30, most_looked_at = 1ULL << 26;
};

// Absolute paths. What is not on the machine was made by the command and is no part of its start.
struct StartFiles {
  std::set<std::string> opened, looked_at;
};

Status save_checkpoint(const std::string& folder, const StartFiles& files,
                       const CheckpointOptions& options = {});

struct CheckpointState {
  bool there = false;  // the recording has one
  std::string layer;   // to be laid over the machine's files; empty: they are unchanged
  std::vector<std::string> changed;  // changed since, and not stored
};

Result<CheckpointState> compare_checkpoint(const std::string& folder);

}  // namespace deadheat::process::sandbox
