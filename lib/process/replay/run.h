// One run of a command in a sandbox: recorded, undisturbed, serial, or a branch of a recording.
// Several runs may be active at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/process/peers/conversations.h"
#include "lib/process/replay/beside.h"
#include "lib/process/replay/replayer.h"
#include "lib/process/replay/serial.h"
#include "lib/process/sandbox/sandbox.h"

namespace deadheat::process::replay {

enum class RunKind : uint8_t { kRecord, kUndisturbed, kSerial, kReplay };

struct RunSpec {
  RunKind kind = RunKind::kUndisturbed;
  SerialPolicy policy = SerialPolicy::kChildFirst;  // kSerial
  const recording::Recording* recording = nullptr;  // kReplay: these three
  const effects::Model* model = nullptr;
  races::Branch branch;
  recording::RecordingInfo about;  // the command and its surroundings
  std::shared_ptr<const std::vector<peers::Conversation>> peers;  // to be played; kRecord: none
  std::string folder;  // must exist; gets out, err and, from the sandbox, upper/
  std::string input;   // file for standard input; empty: no input
  std::shared_ptr<recording::RecordingWriter> writer;  // gets the events; none: they are not kept
  bool watched = false;  // kRecord with an external source: not traced, and held until go()
  std::vector<std::string>
      beside;  // shell commands that run beside the command: from the start, or once it is live
  double timeout_s = 60;
  double patience_s = 10;  // kReplay: for the anchors
  sandbox::SandboxOptions sandbox;
};

struct RunReport {
  sources::TraceResult trace;
  ReplayReport replay;
  std::vector<MadeName> made;     // kSerial
  std::vector<BesideEnd> beside;  // as RunSpec::beside; empty: they were not started
  double seconds = 0;
  int64_t ended_ns = 0;  // by the clock of the machine that it ran on
  std::vector<std::string> problems;
  bool lost = false;  // the sandbox itself died: nothing is known
};

// A report that crosses machines.
std::string to_json(const RunReport& report);
Result<RunReport> parse_report(const std::string& text);

class Run {
 public:
  static Result<Run> start(RunSpec spec);
  int done_fd() const { return sandbox_.done_fd(); }
  int init_pid() const { return sandbox_.init_pid(); }
  const RunSpec& spec() const { return *spec_; }
  void go();  // starts a watched run
  Result<RunReport> finish();
  void kill() { sandbox_.kill(); }

 private:
  Run(sandbox::Sandbox sandbox, std::unique_ptr<RunSpec> spec, ScopedFd gate)
      : sandbox_(std::move(sandbox)), spec_(std::move(spec)), gate_(std::move(gate)) {}
  sandbox::Sandbox sandbox_;
  std::unique_ptr<RunSpec> spec_;
  ScopedFd gate_;
};

Result<RunReport> run_to_end(RunSpec spec);

}  // namespace deadheat::process::replay
