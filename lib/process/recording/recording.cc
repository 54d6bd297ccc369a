#include "lib/process/recording/recording.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::process::recording {
namespace {

constexpr size_t kBufferSize = 256 << 10;
constexpr size_t kAlign = 8;
// Events are read as a whole. A build with 150,000 calls has 20 MB.
constexpr uint64_t kMostEventBytes = uint64_t{2} << 30;

struct FileHead {
  uint64_t magic = DEADHEAT_PROCESS_MAGIC;
  uint32_t version = DEADHEAT_PROCESS_VERSION;
  uint32_t zero = 0;
};
static_assert(sizeof(FileHead) == 16 && sizeof(deadheat_process_event) % kAlign == 0);

std::string head_bytes() {
  const FileHead head;
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

// What is wrong with the event at the front of `bytes`; empty: it is valid, and Event may read it.
std::string event_problem(std::string_view bytes) {
  if (bytes.size() < sizeof(deadheat_process_event)) return "is cut short";
  deadheat_process_event head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.size < sizeof head || head.size % kAlign != 0) return "has an impossible size";
  if (head.size > bytes.size()) return "is cut short";
  size_t at = sizeof head;
  for (uint32_t i = 0; i < head.attachments; i++) {
    deadheat_process_attachment one;
    if (head.size - at < sizeof one) return "has attachments that do not fit into it";
    std::memcpy(&one, bytes.data() + at, sizeof one);
    at += sizeof one;
    const size_t padded = (size_t{one.size} + kAlign - 1) & ~(kAlign - 1);
    if (head.size - at < padded) return "has attachments that do not fit into it";
    at += padded;
  }
  return {};
}

}  // namespace

Result<Recording> Recording::open(const std::string& folder) {
  Recording recording;
  recording.folder_ = folder;
  const std::string events_path = folder + "/events";
  auto events = read_file(events_path, kMostEventBytes);
  if (!events.ok())
    return Error{events.error().message, folder + " is not a recording of `deadheat proc record`"};

  const std::string info_path = folder + "/recording.json";
  if (std::error_code code; std::filesystem::exists(info_path, code)) {
    auto text = read_file(info_path);
    if (!text.ok()) return text.error();
    auto info = parse_recording_info(*text, info_path);
    if (!info.ok()) return info.error();
    recording.info_ = std::move(*info);
  } else {
    recording.info_.guarantees.order = false;
    recording.problems_.push_back(
        "recording.json is missing: the recorder was stopped; what was written before is read");
  }
  const bool counted = recording.problems_.empty();
  if (Status read = recording.read_events(std::make_shared<std::string>(std::move(*events)));
      !read.ok())
    return Error{events_path + ": " + read.error().message, read.error().hint};
  recording.note_losses(counted);
  return recording;
}

Result<Recording> Recording::of_file(std::string bytes, RecordingInfo info) {
  Recording recording;
  recording.info_ = std::move(info);
  if (Status read = recording.read_events(std::make_shared<std::string>(std::move(bytes)));
      !read.ok())
    return read.error();
  return recording;
}

Recording Recording::of(std::vector<std::string> events, RecordingInfo info) {
  std::string bytes = head_bytes();
  for (const std::string& event : events) bytes += event;
  info.events = events.size();
  auto recording = of_file(std::move(bytes), std::move(info));
  return std::move(*recording);
}

Status Recording::read_events(std::shared_ptr<const std::string> bytes) {
  FileHead head;
  if (bytes->size() < sizeof head)
    return Error{"is cut short: not even its head is there", "record again"};
  std::memcpy(&head, bytes->data(), sizeof head);
  if (head.magic != DEADHEAT_PROCESS_MAGIC)
    return Error{"is not an events file of a process recording", ""};
  if (head.version != DEADHEAT_PROCESS_VERSION)
    return Error{"was written in version " + std::to_string(head.version) +
                     " of the format; this deadheat reads version " +
                     std::to_string(DEADHEAT_PROCESS_VERSION),
                 "record again, or use the deadheat that recorded it"};

  for (size_t at = sizeof head; at < bytes->size();) {
    const std::string problem = event_problem(std::string_view(*bytes).substr(at));
    if (!problem.empty()) {
      problems_.push_back("event " + std::to_string(events_.size() + 1) + " " + problem + ": " +
                          with_thousands(bytes->size() - at) + " bytes at the end are not read");
      info_.guarantees.order = false;
      break;
    }
    events_.emplace_back(bytes->data() + at);
    at += events_.back().head().size;
  }
  bytes_.push_back(std::move(bytes));
  // Events that began at the same time keep the order of the file.
  const auto earlier = [](const Event& a, const Event& b) {
    const uint64_t one = a.head().begin, other = b.head().begin;
    return one != other ? one < other : a.raw().data() < b.raw().data();
  };
  if (!std::is_sorted(events_.begin(), events_.end(), earlier))
    std::sort(events_.begin(), events_.end(), earlier);
  if (info_.root_task == 0 && !events_.empty()) info_.root_task = events_.front().head().task;
  return Ok{};
}

void Recording::note_losses(bool counted) {
  if (counted && info_.events > events_.size() && problems_.empty())
    problems_.push_back(with_thousands(info_.events - events_.size()) +
                        " of the events that were recorded are missing");
  if (info_.lost > 0)
    problems_.push_back(with_thousands(info_.lost) +
                        " events were lost while recording: orders around them are not known");
  if (!problems_.empty()) info_.guarantees.order = false;
}

Result<RecordingWriter> RecordingWriter::create(const std::string& folder) {
  std::error_code code;
  if (std::filesystem::exists(folder, code)) {
    if (!std::filesystem::is_directory(folder, code))
      return Error{folder + " exists and is not a folder", "choose another name"};
    if (!std::filesystem::is_empty(folder, code) || code)
      return Error{folder + " exists and is not empty", "remove it or choose another name"};
  }
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, code);
  // Private: it contains the environment and what the command read.
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 &&
      (errno != EEXIST || ::chmod(folder.c_str(), S_IRWXU) != 0))
    return errno_error("cannot make", folder, errno);
  RecordingWriter writer(folder);
  const std::string path = folder + "/events";
  writer.file_ =
      ScopedFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!writer.file_.valid()) return errno_error("cannot write", path, errno);
  writer.buffer_ = head_bytes();
  writer.flush();
  return writer;
}

void RecordingWriter::append(std::string_view event) {
  buffer_ += event;
  count_++;
  if (buffer_.size() >= kBufferSize) flush();
}

void RecordingWriter::append_all(std::string_view bytes, uint64_t events) {
  count_ += events;
  if (buffer_.size() + bytes.size() < kBufferSize) {
    buffer_ += bytes;
    return;
  }
  flush();
  write_out(bytes);
}

void RecordingWriter::write_out(std::string_view bytes) {
  while (failed_ == 0 && !bytes.empty()) {
    const ssize_t wrote = ::write(file_.get(), bytes.data(), bytes.size());
    if (wrote >= 0)
      bytes.remove_prefix(static_cast<size_t>(wrote));
    else if (errno != EINTR)
      failed_ = errno;
  }
}

void RecordingWriter::flush() {
  write_out(buffer_);
  buffer_.clear();
}

Status RecordingWriter::finish(RecordingInfo info) {
  flush();
  if (failed_ != 0) return errno_error("cannot write", folder_ + "/events", failed_);
  if (count_ > 0)
    info.events = count_;  // otherwise the appending process counted: a traced run is another one
  return write_file(folder_ + "/recording.json", to_json(info), 0600);
}

std::vector<std::string> missing_guarantees(const RecordingInfo& info) {
  std::vector<std::string> missing;
  const Guarantees& has = info.guarantees;
  if (!has.time) missing.emplace_back("not recorded: clocks; runs in another order see today's");
  if (!has.signals)
    missing.emplace_back("not recorded: where signals fell; they come when they come");
  if (!has.payload && info.not_kept.empty())
    missing.emplace_back("not recorded: randomness and what came from the network");
  missing.insert(missing.end(), info.not_kept.begin(), info.not_kept.end());
  if (!has.memory)
    missing.emplace_back(
        "not recorded: in which order threads used their memory; that order is not repeated");
  return missing;
}

}  // namespace deadheat::process::recording
