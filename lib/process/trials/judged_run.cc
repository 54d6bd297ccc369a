#include "lib/process/trials/judged_run.h"

#include <algorithm>

#include "lib/base/file.h"
#include "lib/process/judge/outcome.h"
#include "lib/process/judge/user_checker.h"
#include "lib/process/replay/replay_clock.h"

namespace deadheat::process::trials {
namespace {

constexpr int64_t kSecond_ns = 1000000000;
constexpr double kLeastForChecker_s = 0.1;  // 0 would be no limit

Result<model::Consequence> said_beside(const std::string& checker, const replay::BesideEnd& end,
                                       const std::string& folder, size_t index) {
  if (end.timed_out)
    return model::Consequence{model::ConsequenceKind::kCheckerFailed,
                              "the checker beside it did not end"};
  const std::string name = folder + "/beside" + std::to_string(index);
  const auto out = read_file(name + ".out"), err = read_file(name + ".err");
  return confirm::checker_consequence(checker, end.status, out ? out.value() : "",
                                      err ? err.value() : "");
}

}  // namespace

std::vector<std::string> UserCheckers::all() const {
  std::vector<std::string> words = after;
  words.insert(words.end(), beside.begin(), beside.end());
  return words;
}

Result<judge::Outcome> outcome_of(const Target& target, const std::string& folder,
                                  const replay::RunReport& report, int64_t started_ns) {
  const recording::RecordingInfo& info = target.recording->info();
  const int64_t ended_ns = std::max(report.ended_ns, replay::real_time_ns());
  judge::RunMask mask;
  mask.pids = report.trace.processes;
  mask.times = {{info.started_ns / kSecond_ns,
                 info.started_ns / kSecond_ns + static_cast<int64_t>(info.seconds) + 1},
                {started_ns / kSecond_ns, ended_ns / kSecond_ns + 1}};
  mask.lasting = target.lasting;
  auto outcome = judge::read_outcome(folder, mask);
  if (!outcome) return outcome.error();
  outcome->status = report.trace.status;
  outcome->signal = report.trace.signal;
  outcome->timed_out = report.trace.timed_out || !report.trace.stuck_as.empty() || report.lost;
  for (const sources::FailedCommand& one : report.trace.failed)
    outcome->failures.push_back(judge::make_failure(one.words, one.status, one.signal, mask));
  return outcome;
}

Result<judge::Outcome> outcome_of_recording(const Target& target) {
  const recording::Recording& recording = *target.recording;
  replay::RunReport report;
  report.trace.status = recording.info().status;
  report.trace.signal = recording.info().signal;
  report.trace.timed_out = recording.info().timed_out;
  const std::vector<effects::Task>& tasks = target.model->tasks;
  for (const effects::Task& task : tasks)
    if (task.id == task.process) report.trace.processes.push_back(task.id);
  for (const recording::Event& event : recording.events()) {
    const deadheat_process_event& head = event.head();
    if (head.kind != DEADHEAT_PROCESS_EXIT || head.task != head.process || head.result == 0)
      continue;
    const auto task = std::find_if(tasks.begin(), tasks.end(),
                                   [&](const effects::Task& one) { return one.id == head.task; });
    const int status = static_cast<int>(head.result);
    if (task != tasks.end() && !task->command.empty())
      report.trace.failed.push_back({task->command, (status >> 8) & 0xff, status & 0x7f});
  }
  return outcome_of(target, recording.folder(), report, recording.info().started_ns);
}

Result<CheckerWords> ask_checkers(const Target& target, const UserCheckers& checkers,
                                  const std::string& folder, const replay::RunReport& report,
                                  double most_s) {
  CheckerWords words;
  for (const std::string& checker : checkers.after) {
    judge::CheckerRequest request;
    request.checker = checker;
    request.folder = folder;
    request.status = report.trace.signal != 0 ? 128 + report.trace.signal : report.trace.status;
    request.directory = target.recording->info().directory;
    request.environment = target.recording->info().environment;
    request.sandbox = target.sandbox;
    request.timeout_s = std::min(request.timeout_s, std::max(most_s, kLeastForChecker_s));
    auto said = judge::run_checker(request);
    if (!said) return said.error();
    words.push_back(std::move(*said));
  }
  for (size_t i = 0; i < checkers.beside.size(); i++) {
    words.emplace_back();
    if (i >= report.beside.size()) continue;
    auto said = said_beside(checkers.beside[i], report.beside[i], folder, i);
    if (!said) return said.error();
    words.back() = std::move(*said);
  }
  return words;
}

}  // namespace deadheat::process::trials
