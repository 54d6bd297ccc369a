// A recording: a folder with what a command did, and the state that it started
// from.
//
// - recording.json: RecordingInfo: command, environment, guarantees, losses, how it ended
// - events: the events (abi/process_event.h) as written; Recording sorts them by `begin`
// - stdin: what was read from standard input, if that was not a file of the sandbox
// - out, err: what the command printed
// - outcome.json: the end state that checkers compare against (outcome.h)
// - checkpoint/: files of the start state that may change (checkpoint.h)
//
// A truncated recording is read as far as possible; `problems` says what is
// missing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/scoped_fd.h"
#include "lib/process/recording/event.h"

namespace deadheat::process::recording {

// What a recording guarantees; validation names what is missing.
struct Guarantees {
  bool order = true;       // every access to a shared object is bracketed; nothing was lost
  bool signals = false;    // signals fell only at system calls, so that replay can repeat them
  bool time = false;       // clocks that programs read are recorded
  bool payload = false;    // external input is recorded: input, randomness, network
  bool addresses = false;  // the same addresses in every run
  bool memory = false;     // tasks that share memory switched only at calls
};

struct RecordingInfo {
  std::string source;  // "ptrace" or "bpf"
  std::vector<std::string> command;
  std::string directory;
  std::vector<std::string> environment;  // NAME=value
  std::vector<std::string>
      standard_streams;  // of 0, 1, 2: "null", "file", "pipe", "terminal", "closed"
  uint32_t user = 0, group = 0, mask = 022;
  std::string host_name;
  int64_t started_ns = 0;  // CLOCK_REALTIME
  double seconds = 0;
  bool in_place = false, host_network = false;
  std::vector<std::string> allowed;  // permission_names(); informational, never granted by itself
  std::vector<std::string> not_isolated;  // what the sandbox could not isolate, one line each
  Guarantees guarantees;
  uint64_t events = 0, lost = 0;
  std::map<std::string, uint64_t>
      unmodelled;                     // calls that touch something shared and are not modelled
  std::vector<std::string> not_kept;  // external input that was not stored, one line each
  int32_t root_task = 0;
  int status = 0, signal = 0;  // how the command ended
  bool timed_out = false;
};

class Recording {
 public:
  static Result<Recording> open(const std::string& folder);
  // An events file that is already in memory; everything after a damaged event is ignored.
  static Result<Recording> of_file(std::string bytes, RecordingInfo info);
  // For tests: events that are in no file.
  static Recording of(std::vector<std::string> events, RecordingInfo info);

  const RecordingInfo& info() const { return info_; }
  const std::vector<Event>& events() const { return events_; }  // sorted by begin
  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& problems() const { return problems_; }  // one line each

 private:
  Status read_events(std::shared_ptr<const std::string> bytes);
  void note_losses(bool counted);

  std::string folder_;
  RecordingInfo info_;
  std::vector<std::shared_ptr<const std::string>> bytes_;
  std::vector<Event> events_;
  std::vector<std::string> problems_;
};

// Writes a recording as it grows. Appended events survive a kill of the writer.
class RecordingWriter {
 public:
  // Creates the folder; an Error if it is not empty.
  static Result<RecordingWriter> create(const std::string& folder);
  void append(std::string_view event);  // whole; buffered; finish() reports a failed write
  // Several events; the last may be continued by the next call. Long ones are written in place.
  void append_all(std::string_view bytes, uint64_t events);
  uint64_t count() const { return count_; }
  int descriptor() const { return file_.get(); }  // for a sandbox in which events are appended
  void flush();                                   // writes buffered events to the file
  Status finish(RecordingInfo info);              // fills in events

 private:
  explicit RecordingWriter(std::string folder) : folder_(std::move(folder)) {}
  void write_out(std::string_view bytes);

  std::string folder_;
  ScopedFd file_;
  std::string buffer_;
  uint64_t count_ = 0;
  int failed_ = 0;  // errno of the first write that failed
};

// What the recording does not guarantee, one line each, with the consequence for a replay.
std::vector<std::string> missing_guarantees(const RecordingInfo& info);

// recording.json as text; parse refuses other versions by name.
std::string to_json(const RecordingInfo& info);
Result<RecordingInfo> parse_recording_info(const std::string& text, const std::string& where);

}  // namespace deadheat::process::recording
