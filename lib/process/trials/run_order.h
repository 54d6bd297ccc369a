// A run as text, for another machine of a cluster: what is to run, and what came of it.
//
// The machine takes the recording's folder, and the run's new one, from a file system that all
// machines share. It opens the recording and compares the checkpoint with its own files by itself.
//
// A run may be carried out twice, when a machine that was thought lost goes on. Each try has a
// folder of its own, which gets the run's name when it is complete: the first one counts.
#pragma once

#include <string>

#include "lib/process/trials/target.h"

namespace deadheat::process::trials {

struct RunOrder {
  std::string recording, folder;
  replay::RunKind kind = replay::RunKind::kUndisturbed;
  replay::SerialPolicy policy = replay::SerialPolicy::kChildFirst;
  races::Branch branch;  // kReplay
  bool keeps = false;    // its own recording, in folder/recording
};

// `target`: the limits and what runs beside; they must hold there too.
std::string to_json(const RunOrder& order, const Target& target);
// Reads such a file and does what it says; afterwards the run's folder is there.
Status carry_out(const std::string& path);

struct CarriedOut {
  replay::RunReport report;
  int64_t started_ns = 0;
};
Result<CarriedOut> read_carried_out(const std::string& folder);

// Completes the recording that the writer of a run made.
Status finish_recording(recording::RecordingWriter& writer, const Target& target,
                        const replay::RunReport& report, int64_t started_ns);

}  // namespace deadheat::process::trials
