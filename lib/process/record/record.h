// Records a command: runs it in a sandbox under one of the two sources and leaves a recording
// folder behind.
#pragma once

#include <string>
#include <vector>

#include "lib/process/recording/recording.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::record {

enum class SourceKind : uint8_t { kPtrace, kBpf };

struct RecordRequest {
  // Names or shell patterns of variables that the command does not receive, so that the recording
  // does not contain them.
  std::vector<std::string> without;
  std::string folder;  // created; must not exist
  std::vector<std::string> command;
  SourceKind source = SourceKind::kPtrace;
  double timeout_s = 0;
  sandbox::SandboxOptions sandbox;
  uint64_t most_input = 64u << 20;  // bytes of standard input that are stored
};

// The recording's description, as written to it.
Result<recording::RecordingInfo> record(const RecordRequest& request);

// This process's environment, for a command run from here.
recording::RecordingInfo surroundings(std::vector<std::string> command);

}  // namespace deadheat::process::record
