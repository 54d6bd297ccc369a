// The bpf source: programs on the kernel's tracepoints (kernel/bpf) write events to a ring buffer,
// a thread here moves them to the recording. The command runs at full speed and is only watched.
// Needs root and a kernel with BTF.
//
// Losses: an event that finds the ring buffer full (`lost`), a task that got no state
// (`unfollowed`), calls of the 32-bit interface (`foreign`). None of them stops the command; any of
// them ends the guarantee of order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::sources {

struct BpfOptions {
  // Of all processors together. Holds a twentieth of a second of two processors that do nothing but
  // short calls; making it takes 0.2 ms a MiB, a fifth of what starting costs.
  uint64_t buffer_bytes = 32u << 20;
};

struct BpfCounters {
  uint64_t events = 0;
  uint64_t lost = 0;
  uint64_t unfollowed = 0;
  uint64_t foreign = 0;
  std::map<std::string, uint64_t> unmodelled;  // by the call's name
  double consumer_seconds = 0;                 // processor time of moving events to the recording
};

class BpfSource {
 public:
  // Loads and attaches; nothing is recorded yet. The writer must outlive the source. An Error says
  // what this build or this machine lacks.
  static Result<BpfSource> start(const BpfOptions& options, recording::RecordingWriter& writer);
  BpfSource(BpfSource&&) noexcept;
  BpfSource& operator=(BpfSource&&) noexcept;
  ~BpfSource();

  // That task and all that it starts from now on are recorded, each from its next exec on: what a
  // sandbox's first process and its children do to prepare the command is not the command's.
  // Numbers are those of the task's own PID namespace. Starts the thread that moves events, so fork
  // before it, not after.
  Status follow(int pid);
  // Detaches and moves what is left. Once; the followed tasks should have ended.
  void stop();
  // After stop().
  BpfCounters counters() const;

 private:
  struct State;
  explicit BpfSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether start() works here: an Error that says what is missing and how to get it. For `deadheat
// doctor`.
Status check_bpf_source();

}  // namespace deadheat::process::sources
