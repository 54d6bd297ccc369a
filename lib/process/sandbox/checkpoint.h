// The start state of a recording: the files that it opened, as they were. Those that may change
// (not below /usr, /lib and the like) are copied into the recording; of the others size and time
// are noted, so that a change is seen.
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

namespace deadheat::process {

struct CheckpointOptions {
  uint64_t most_bytes = 1ULL << 30;  // of copies; files beyond are noted only
};

// `opened`: absolute paths. Files that are not on the machine were made by the command and are not
// part of its start.
Status save_checkpoint(const std::string& folder, const std::set<std::string>& opened,
                       const CheckpointOptions& options = {});

struct CheckpointState {
  bool there = false;  // the recording has one
  std::string layer;   // to be laid over the machine's files; empty: they are as they were
  std::vector<std::string> changed;  // not as they were, and not kept
};

Result<CheckpointState> compare_checkpoint(const std::string& folder);

}  // namespace deadheat::process
