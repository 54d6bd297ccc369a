// The start state of a recording: the files that it opened or looked at, programs and libraries
// too, with the folders and links on the way to them, as they were. They are copied into the
// recording, so that it can be run when the machine has changed, or on another one.
//
// A later run lays the copies over the machine's files only if those are no longer the same. What a
// recording looked for and did not find is not kept: a file that appeared since is seen by the
// replay, and shows as a divergence.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::process::sandbox {

struct CheckpointOptions {
  // Of copies. Files beyond are noted only: a change is seen.
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
  std::string layer;   // to be laid over the machine's files; empty: they are as they were
  std::vector<std::string> changed;  // not as they were, and not kept
};

Result<CheckpointState> compare_checkpoint(const std::string& folder);

}  // namespace deadheat::process::sandbox
