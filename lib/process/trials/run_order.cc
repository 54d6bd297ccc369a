#include "lib/process/trials/run_order.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "lib/base/file.h"
#include "lib/base/processors.h"
#include "lib/base/text.h"
#include "lib/confirm/processor_claims.h"
#include "lib/process/effects/model.h"
#include "lib/process/races/branch_json.h"
#include "lib/process/recording/json_bytes.h"
#include "lib/process/recording/recording_check.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process::trials {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kReport[] = "/report.json";

struct Wanted {
  RunOrder order;
  std::string branch;  // it can be read when the model is known
  sandbox::SandboxOptions sandbox;
  double timeout_s = 0;
  std::vector<std::string> beside;
};

Result<Wanted> read_order(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const Error damaged{"the order of a run is damaged", "does every node have this build?"};
  try {
    const json all = json::parse(text.value());
    Wanted wanted;
    wanted.order.recording = recording::bytes_from_json(all.at("recording"));
    wanted.order.folder = recording::bytes_from_json(all.at("folder"));
    const int kind = recording::whole_from_json<int>(all.at("kind"));
    const int policy = recording::whole_from_json<int>(all.at("policy"));
    if (kind < 0 || kind > static_cast<int>(replay::RunKind::kReplay) || policy < 0 ||
        policy > static_cast<int>(replay::SerialPolicy::kNewestFirst))
      return damaged;
    wanted.order.kind = static_cast<replay::RunKind>(kind);
    wanted.order.policy = static_cast<replay::SerialPolicy>(policy);
    wanted.order.keeps = all.at("keeps");
    wanted.branch = all.at("branch");
    wanted.timeout_s = all.at("timeout_s");
    wanted.beside = recording::words_from_json(all.at("beside"));
    wanted.sandbox.scratch = recording::bytes_from_json(all.at("scratch"));
    wanted.sandbox.most_bytes = all.at("most_bytes");
    wanted.sandbox.most_processes = all.at("most_processes");
    wanted.sandbox.most_memory = all.at("most_memory");
    auto allow = sandbox::parse_permissions(all.at("allow").get<std::vector<std::string>>());
    if (!allow) return allow.error();
    wanted.sandbox.allow = *allow;
    return wanted;
  } catch (const std::exception&) {
    return damaged;
  }
}

Status run_in(const std::string& folder, const Wanted& wanted) {
  if (const Status own = recording::check_own_recording(wanted.order.recording); !own)
    return own.error();
  auto recording = recording::Recording::open(wanted.order.recording);
  if (!recording) return recording.error();
  auto model = effects::build_model(*recording);
  if (!model) return model.error();
  auto target = make_target(*recording, *model, wanted.sandbox, wanted.timeout_s);
  if (!target) return target.error();
  target->beside = wanted.beside;
  const bool pinned = wanted.order.kind != replay::RunKind::kUndisturbed;
  const confirm::ProcessorClaims claim(usable_processors(), 1);
  auto spec =
      make_spec(*target, wanted.order.kind, folder, pinned ? claim.processors().front() : -1);
  if (!spec) return spec.error();
  spec->policy = wanted.order.policy;
  if (wanted.order.kind == replay::RunKind::kReplay) {
    auto branch = races::parse_branch(wanted.branch, *model);
    if (!branch) return branch.error();
    spec->branch = std::move(*branch);
  }
  std::shared_ptr<recording::RecordingWriter> writer;
  if (wanted.order.keeps) {
    auto made = recording::RecordingWriter::create(folder + "/recording");
    if (!made) return made.error();
    writer = std::make_shared<recording::RecordingWriter>(std::move(*made));
    spec->writer = writer;
  }
  const int64_t started_ns = replay::real_time_ns();
  auto report = replay::run_to_end(std::move(*spec));
  if (!report) return report.error();
  if (writer)
    if (const Status kept = finish_recording(*writer, *target, *report, started_ns); !kept)
      return kept;
  const json all = {{"started_ns", started_ns}, {"report", replay::to_json(*report)}};
  return write_file(folder + kReport, all.dump() + "\n", 0600);
}

}  // namespace

std::string to_json(const RunOrder& order, const Target& target) {
  const json all = {{"recording", recording::bytes_to_json(order.recording)},
                    {"folder", recording::bytes_to_json(order.folder)},
                    {"kind", static_cast<int>(order.kind)},
                    {"policy", static_cast<int>(order.policy)},
                    {"branch", races::to_json(order.branch)},
                    {"keeps", order.keeps},
                    {"timeout_s", target.timeout_s},
                    {"beside", recording::words_to_json(target.beside)},
                    {"scratch", recording::bytes_to_json(target.sandbox.scratch)},
                    {"most_bytes", target.sandbox.most_bytes},
                    {"most_processes", target.sandbox.most_processes},
                    {"most_memory", target.sandbox.most_memory},
                    {"allow", target.sandbox.allow.names()}};
  return all.dump() + "\n";
}

Status carry_out(const std::string& path) {
  auto wanted = read_order(path);
  if (!wanted) return wanted.error();
  const std::string& folder = wanted->order.folder;
  std::random_device random;
  const std::string own = folder + "." + hex((uint64_t{random()} << 32) | random()).substr(2);
  Status done = run_in(own, *wanted);
  if (done && std::rename(own.c_str(), folder.c_str()) != 0 && errno != ENOTEMPTY &&
      errno != EEXIST)
    done = errno_error("cannot make", folder, errno);
  std::error_code ignored;
  fs::remove_all(own, ignored);  // failed, or another try was first
  return done;
}

Result<CarriedOut> read_carried_out(const std::string& folder) {
  const auto text = read_file(folder + kReport);
  if (!text) return text.error();
  try {
    const json all = json::parse(text.value());
    auto report = replay::parse_report(all.at("report").get<std::string>());
    if (!report) return report.error();
    return CarriedOut{std::move(*report), all.at("started_ns")};
  } catch (const std::exception&) {
    return Error{"the report of a run is damaged", "does every node have this build of deadheat?"};
  }
}

Status finish_recording(recording::RecordingWriter& writer, const Target& target,
                        const replay::RunReport& report, int64_t started_ns) {
  recording::RecordingInfo info = target.recording->info();
  info.source = "ptrace";
  info.started_ns = started_ns;
  info.seconds = report.seconds;
  info.events = report.trace.events;
  info.status = report.trace.status;
  info.signal = report.trace.signal;
  info.timed_out |= report.trace.timed_out;  // a server is always one, even if we ended it
  return writer.finish(info);
}

}  // namespace deadheat::process::trials
