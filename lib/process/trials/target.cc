#include "lib/process/trials/target.h"

#include <algorithm>
#include <filesystem>

#include "lib/base/file.h"

namespace deadheat::process::trials {

namespace fs = std::filesystem;

namespace {

// The checkpoint has the folders on the way to everything that the command used.
std::vector<std::string> lasting_names(const std::string& recording) {
  std::vector<std::string> names;
  for (const char* const folder : {"/tmp", "/var/tmp"}) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(recording + "/checkpoint" + folder, failed))
      names.push_back(std::string(folder) + "/" + entry.path().filename().string());
  }
  return names;
}

}  // namespace

double timeout_of_cut_off(const recording::Recording& recording, double timeout_s, double left_s) {
  constexpr double kLeast_s = 1, kMargin = 3, kPart = 0.1;
  uint64_t first = ~uint64_t{0}, last = 0;
  for (const recording::Event& event : recording.events()) {
    if (event.head().time_ns == 0) continue;
    first = std::min(first, event.head().time_ns);
    last = std::max(last, event.head().time_ns);
  }
  const double busy_s = last > first ? static_cast<double>(last - first) / 1e9 : 0;
  const double wished_s = std::min(kLeast_s + kMargin * busy_s, left_s * kPart);
  const double most_s = std::max(kLeast_s, recording.info().seconds);
  const double limit_s = std::clamp(wished_s, kLeast_s, most_s);
  return timeout_s > 0 ? std::min(timeout_s, limit_s) : limit_s;
}

Result<Target> make_target(const recording::Recording& recording, const effects::Model& model,
                           const sandbox::SandboxOptions& sandbox, double timeout_s) {
  const recording::RecordingInfo& info = recording.info();
  if (info.in_place)
    return Error{"this recording was made in place: its start state is gone",
                 "record it again without --in-place"};
  auto checkpoint = sandbox::compare_checkpoint(recording.folder());
  if (!checkpoint) return checkpoint.error();
  Target target;
  target.recording = &recording;
  target.model = &model;
  target.checkpoint = std::move(*checkpoint);
  target.sandbox = sandbox;
  target.sandbox.host_network = false;
  target.peers = std::make_shared<const std::vector<peers::Conversation>>(
      peers::conversations_of(recording, model));
  target.sandbox.host_name = info.host_name;
  target.lasting = lasting_names(recording.folder());
  if (!target.checkpoint.layer.empty()) target.sandbox.layers.push_back(target.checkpoint.layer);
  target.timeout_s = timeout_s > 0 ? timeout_s : std::max(10.0, 10 * info.seconds);
  return target;
}

std::vector<std::string> problems_of(const sandbox::CheckpointState& checkpoint) {
  if (!checkpoint.there)
    return {"the recording has no checkpoint: its files are taken to be as they were"};
  if (checkpoint.changed.empty()) return {};
  const size_t more = checkpoint.changed.size() - 1;
  return {checkpoint.changed.front() +
          (more > 0 ? " and " + std::to_string(more) + " more files are" : " is") +
          " not as when this was recorded"};
}

Result<replay::RunSpec> make_spec(const Target& target, replay::RunKind kind,
                                  const std::string& folder, int processor) {
  const recording::RecordingInfo& info = target.recording->info();
  replay::RunSpec spec;
  spec.kind = kind;
  spec.about = info;
  spec.folder = folder;
  std::error_code failed;
  fs::remove_all(folder, failed);
  fs::create_directories(folder, failed);
  if (failed) return errno_error("cannot make", folder, failed.value());
  const std::string input = target.recording->folder() + "/stdin";
  if (fs::exists(input, failed)) spec.input = input;
  spec.timeout_s = target.timeout_s;
  spec.patience_s = std::max(3.0, 6 * info.seconds);
  spec.sandbox = target.sandbox;
  spec.sandbox.processor = processor;
  spec.beside = target.beside;
  spec.peers = target.peers;
  if (kind == replay::RunKind::kReplay) {
    spec.recording = target.recording;
    spec.model = target.model;
  }
  return spec;
}

}  // namespace deadheat::process::trials
