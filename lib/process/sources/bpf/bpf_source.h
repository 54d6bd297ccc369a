// The bpf source: programs on the kernel's tracepoints (kernel/bpf) write events to a ring buffer,
// and a thread here moves them to the recording. The command runs at full speed and is only
// observed. Needs root and a kernel with BTF.
//
// Losses: an event that finds the ring buffer full (`lost`), a task that got no state
// (`unfollowed`), calls of the 32-bit interface (`foreign`). None of them stops the command; each
// of them voids the order guarantee.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/process/recording/recording.h"

namespace deadheat::process::sources {

struct BpfOptions {
  // All processors together. Holds a twentieth of a second of two processors that make only short
  // calls; creating it takes 0.2 ms per MiB, a fifth of the start-up cost.
  uint64_t buffer_bytes = 32u << 20;
};

struct BpfCounters {
  uint64_t events = 0;
  uint64_t lost = 0;
  uint64_t unfollowed = 0;
  uint64_t foreign = 0;
  std::map<std::string, uint64_t> unmodelled;  // by the call's name
  double consumer_seconds = 0;  // processor time spent moving events to the recording
};

class BpfSource {
 public:
  // Loads and attaches; nothing is recorded yet. The writer must outlive the source. An Error says
  // what this build or this machine lacks.
  static Result<BpfSource> start(const BpfOptions& options, recording::RecordingWriter& writer);
  BpfSource(BpfSource&&) noexcept;
  BpfSource& operator=(BpfSource&&) noexcept;
  ~BpfSource();

  // Records that task and everything that it starts from now on, each from its next exec on: the
  // preparations of a sandbox's first process and its children are not part of the command. Numbers
  // are those of the task's own PID namespace. Starts the thread that moves events, so fork before
  // calling it, not after.
  Status follow(int pid);
  // Detaches and moves the remaining events. Call once; the followed tasks should have ended.
  void stop();
  // Call after stop().
  BpfCounters counters() const;

 private:
  struct State;
  explicit BpfSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether start() works here: an Error says what is missing and how to get it. For `deadheat
// doctor`.
Status check_bpf_source();

}  // namespace deadheat::process::sources
