#include "lib/process/record/record.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>

#include "lib/base/file.h"
#include "lib/process/effects/model.h"
#include "lib/process/replay/replay_clock.h"
#include "lib/process/replay/run.h"
#include "lib/process/sandbox/checkpoint.h"
#include "lib/process/sources/bpf/bpf_source.h"

extern char** environ;

namespace deadheat::process::record {
namespace {

// A terminal is not read: the same input could not be typed again.
std::string kind_of_stream(int descriptor) {
  struct stat about;
  if (::fstat(descriptor, &about) != 0) return "closed";
  if (::isatty(descriptor)) return "terminal";
  if (S_ISREG(about.st_mode)) return "file";
  if (S_ISCHR(about.st_mode)) return "null";
  return "pipe";
}

// Stores what the command will read, so that every later run reads the same.
Status keep_input(const std::string& path, uint64_t most) {
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::read(0, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error("cannot read", "standard input", errno);
    if (size == 0) break;
    bytes.append(buffer, static_cast<size_t>(size));
    if (bytes.size() > most)
      return Error{"standard input is longer than " + std::to_string(most >> 20) + " MiB",
                   "give the command a file name instead, or < /dev/null"};
  }
  return write_file(path, bytes, 0600);
}

void leave_out(const std::vector<std::string>& patterns, std::vector<std::string>& environment) {
  std::erase_if(environment, [&](const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('='));
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
  });
}

struct Ended {
  replay::RunReport report;
  sources::BpfCounters bpf;
};

Result<Ended> run_traced(replay::RunSpec spec) {
  auto report = replay::run_to_end(std::move(spec));
  if (!report) return report.error();
  return Ended{std::move(*report), {}};
}

Result<Ended> run_watched(replay::RunSpec spec) {
  const std::shared_ptr<recording::RecordingWriter> writer = spec.writer;
  auto source = sources::BpfSource::start({}, *writer);
  if (!source) return source.error();
  spec.watched = true;
  auto run = replay::Run::start(std::move(spec));
  if (!run) return run.error();
  const Status followed = source->follow(run->init_pid());
  if (!followed) return followed.error();
  run->go();
  auto report = run->finish();
  source->stop();
  if (!report) return report.error();
  writer->flush();
  return Ended{std::move(*report), source->counters()};
}

void describe_losses(const Ended& ended, SourceKind source, recording::RecordingInfo& info) {
  const bool traced = source == SourceKind::kPtrace;
  info.source = traced ? "ptrace" : "bpf";
  info.events = traced ? ended.report.trace.events : ended.bpf.events;
  info.lost = ended.bpf.lost + ended.bpf.unfollowed + ended.bpf.foreign;
  info.unmodelled = traced ? ended.report.trace.unmodelled : ended.bpf.unmodelled;
  info.guarantees.order = info.lost == 0;
  info.guarantees.signals = traced;
  info.guarantees.time = traced;
  info.not_kept = ended.report.trace.peers;
  info.guarantees.payload = traced && info.not_kept.empty();
  info.guarantees.addresses = true;
  info.guarantees.memory = traced && ended.report.trace.interrupted == 0;
}

// Files that the events name, as the model resolves them, including those that were only inspected.
std::set<std::string> named_files(const std::string& folder) {
  std::set<std::string> names;
  auto recording = recording::Recording::open(folder);
  if (!recording) return names;
  auto model = effects::build_model(*recording);
  if (!model) return names;
  for (const effects::Object& object : model->objects)
    if (object.kind == effects::ObjectKind::kName || object.kind == effects::ObjectKind::kData)
      names.insert(object.name);
  return names;
}

}  // namespace

recording::RecordingInfo surroundings(std::vector<std::string> command) {
  recording::RecordingInfo info;
  info.command = std::move(command);
  std::error_code failed;
  info.directory = std::filesystem::current_path(failed).string();
  for (char** one = environ; *one != nullptr; one++) info.environment.emplace_back(*one);
  info.user = ::getuid();
  info.group = ::getgid();
  info.mask = ::umask(022);
  ::umask(static_cast<mode_t>(info.mask));
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  info.host_name = name;
  return info;
}

Result<recording::RecordingInfo> record(const RecordRequest& request) {
  replay::RunSpec spec;
  spec.kind = replay::RunKind::kRecord;
  spec.about = surroundings(request.command);
  leave_out(request.without, spec.about.environment);
  spec.about.in_place = request.sandbox.in_place;
  spec.about.host_network = request.sandbox.host_network;
  spec.about.allowed = request.sandbox.allow.names();
  for (int stream = 0; stream < 3; stream++)
    spec.about.standard_streams.push_back(kind_of_stream(stream));
  auto writer = recording::RecordingWriter::create(request.folder);
  if (!writer) return writer.error();
  spec.writer = std::make_shared<recording::RecordingWriter>(std::move(*writer));
  const std::shared_ptr<recording::RecordingWriter> events = spec.writer;
  spec.folder = request.folder;
  spec.sandbox = request.sandbox;
  spec.sandbox.host_name = spec.about.host_name;
  spec.timeout_s = request.timeout_s;
  const std::string& input = spec.about.standard_streams[0];
  if (input == "file" || input == "pipe") {
    spec.input = request.folder + "/stdin";
    const Status kept = keep_input(spec.input, request.most_input);
    if (!kept) return kept.error();
  }
  recording::RecordingInfo info = spec.about;
  info.started_ns = replay::real_time_ns();
  const auto started = std::chrono::steady_clock::now();
  auto ended = request.source == SourceKind::kBpf ? run_watched(std::move(spec))
                                                  : run_traced(std::move(spec));
  if (!ended) {
    std::error_code failed;
    std::filesystem::remove_all(request.folder, failed);
    return ended.error();
  }
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  describe_losses(*ended, request.source, info);
  info.not_isolated = ended->report.problems;
  info.status = ended->report.trace.status;
  info.signal = ended->report.trace.signal;
  info.timed_out = ended->report.trace.timed_out || !ended->report.trace.stuck_as.empty();
  const Status written = events->finish(info);
  if (!written) return written.error();
  if (info.in_place) return info;
  // The run left the machine's files unchanged: its own are in the upper folder.
  sandbox::StartFiles start{std::move(ended->report.trace.opened), named_files(request.folder)};
  // The programs of the bpf source see unresolved paths, for all calls alike.
  if (request.source == SourceKind::kBpf) start.opened.swap(start.looked_at);
  start.looked_at.insert(info.directory);
  const Status saved = sandbox::save_checkpoint(request.folder, start);
  if (!saved) return saved.error();
  return info;
}

}  // namespace deadheat::process::record
