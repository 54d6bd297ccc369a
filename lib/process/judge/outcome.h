// The outcome of a run as data that checkers compare: status, failed commands, printed output and
// changed files. All are masked (run_mask.h), so that two good runs of a deterministic command have
// equal outcomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/process/judge/run_mask.h"

namespace deadheat::process::judge {

enum class FileKind : uint8_t { kFile, kFolder, kLink, kPipe, kSocket, kDevice, kGone, kCount };

// A file, folder or link that differs from before the run.
struct ChangedFile {
  std::string path;  // as seen by the command
  std::string name;  // the path, masked: used for comparison
  FileKind kind = FileKind::kFile;
  uint32_t mode = 0;           // permissions
  uint64_t size = 0;           // bytes of a file
  uint64_t digest = 0;         // of the masked content with sorted lines, or of a link's target
  bool text = false;           // `lines` holds the content, masked, in order
  bool last_line_cut = false;  // text that does not end with a newline
  bool existed = false;        // the name existed before the run
  bool replaced = false;       // a folder whose former contents are gone
  std::vector<std::string> lines;
  friend bool operator==(const ChangedFile&, const ChangedFile&) = default;
};

// A process that did not end with status 0.
struct CommandFailure {
  std::string program;  // without its folder: "grep"
  std::string words;    // the whole command, masked
  int status = 0, signal = 0;
  friend bool operator==(const CommandFailure&, const CommandFailure&) = default;
};

struct Outcome {
  int status = 0, signal = 0;
  bool timed_out = false;
  std::vector<CommandFailure> failures;
  std::vector<std::string> out, err;  // lines, masked
  std::vector<ChangedFile> files;     // by name
  uint64_t left_out = 0;              // files beyond the limit
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

CommandFailure make_failure(const std::vector<std::string>& words, int status, int signal,
                            const RunMask& mask);
std::vector<std::string> masked_lines(std::string_view text, const RunMask& mask);

// The changed files of a kept upper tree (SandboxOptions::keep_upper). `before` is the folder that
// shows the state before the run: "/" or a checkpoint.
Result<std::vector<ChangedFile>> read_changed_files(const std::string& upper, const RunMask& mask,
                                                    const std::string& before = "/");

// Reads a run's folder: out, err, upper/. The caller fills in status and failures.
Result<Outcome> read_outcome(const std::string& folder, const RunMask& mask);

std::string to_json(const Outcome& outcome);
Result<Outcome> parse_outcome(const std::string& text, const std::string& where);

}  // namespace deadheat::process::judge
