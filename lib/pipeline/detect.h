// A run of a program with the detecting runtime: its environment, and the findings that its
// processes report while they run. The caller starts the program: `run` does it like a shell,
// `check` captures its output.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/work_folder.h"
#include "lib/live/live_findings.h"

namespace deadheat::pipeline {

struct DetectOptions {
  std::vector<std::string> program;
  std::string missing;  // what calls into uninstrumented code order; empty: the runtime's default
  uint64_t memory_limit_mb = 0;
  std::vector<std::string> options;  // "key=value" for the runtime
  bool halt_on_error = false;
};

class DetectRun {
 public:
  // The runtime library must exist.
  static Result<std::unique_ptr<DetectRun>> prepare(const DetectOptions& options);

  const std::map<std::string, std::string>& environment() const { return environment_; }
  // The new findings since the last call.
  std::vector<model::Candidate> poll();
  live::LiveFindings& findings() { return findings_; }
  // All findings. Reports it if a full folder may have lost some.
  model::FindingsFile finish();
  // False: no process reported that it started; nothing was checked, and that must not look like a
  // pass.
  bool started() const { return findings_.any_process(); }
  Error why_not_started() const;

 private:
  DetectRun(const DetectOptions& options, std::unique_ptr<WorkFolder> folder);
  std::string raw_path() const { return folder_->path() + "/raw"; }

  const std::string program_;
  std::unique_ptr<WorkFolder> folder_;
  ScopedFd raw_;  // processes with the runtime append to this file
  std::map<std::string, std::string> environment_;
  live::LiveFindings findings_;
};

}  // namespace deadheat::pipeline
