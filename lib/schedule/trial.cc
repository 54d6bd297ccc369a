#include "lib/schedule/trial.h"

#include <sys/stat.h>

#include <cerrno>

#include "lib/base/file.h"

namespace deadheat::schedule {

std::string raw_path(const std::string& folder) { return folder + "/raw"; }
std::string decisions_path(const std::string& folder) { return folder + "/decisions"; }

Result<confirm::ChildRequest> prepare(const confirm::Target& target,
                                      const std::optional<TrialRequest>& request,
                                      const std::string& folder, double timeout_s) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0) return errno_error("cannot make", folder, errno);
  if (const Status made = write_file(raw_path(folder), ""); !made) return made.error();
  std::vector<std::string> settings = {"raw_path=" + raw_path(folder), "exitcode=0",
                                       "atexit_sleep_ms=0"};
  if (request) {
    const std::string path = folder + "/trial";
    if (const Status made = write_file(path, to_text(*request)); !made) return made.error();
    settings.push_back("trial_path=" + path);
  }
  confirm::ChildRequest child;
  child.command = target.program;
  child.directory = target.directory;
  child.input = target.input;
  child.environment = target.environment(request ? "schedule" : "detect", settings);
  child.folder = folder;
  child.timeout_s = timeout_s;
  child.empty_first = {raw_path(folder)};
  return child;
}

TrialResult collect(const confirm::Target& target, const TrialRequest& request,
                    const confirm::ChildResult& child, const std::string& folder,
                    const std::string& execution, symbols::Symbolizer& symbolizer) {
  TrialResult result;
  result.seen = confirm::observe(child, folder);
  live::RunIdentity identity;
  identity.execution = execution;
  identity.program = target.program;
  identity.trial = model::Trial{.confirmer = "schedule", .reproducer = reproducer_of(request)};
  live::LiveFindings live(identity, &symbolizer);
  if (const auto raw = read_file(raw_path(folder))) (void)live.feed(raw.value());
  result.started = live.any_process();
  result.seen.scheduled = true;
  result.seen.released = live.released();
  result.seen.deadlock = live.deadlock();
  result.seen.hang = live.hang();
  result.seen.crash = live.crash();
  result.crash = live.crash_access(result.crash_site);
  result.divergence = live.divergence();
  result.processes = live.raw().processes();
  result.races = live.finish();
  if (auto log = read_decisions(decisions_path(folder))) result.log = std::move(log).value();
  return result;
}

}  // namespace deadheat::schedule
