#include "lib/pipeline/detect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/live/instrumented.h"
#include "lib/pipeline/launch.h"
#include "lib/pipeline/runtime_environment.h"

namespace deadheat::pipeline {
namespace {

std::vector<std::string> settings_of(const DetectOptions& options, const std::string& raw) {
  std::vector<std::string> settings = options.options;
  if (!options.missing.empty()) settings.push_back("missing=" + options.missing);
  if (options.memory_limit_mb > 0)
    settings.push_back("memory_limit_mb=" + std::to_string(options.memory_limit_mb));
  if (options.halt_on_error) settings.emplace_back("halt_on_error=1");
  settings.push_back("raw_path=" + raw);
  settings.emplace_back("exitcode=0");
  return settings;
}

live::RunIdentity identity_of(const DetectOptions& options) {
  live::RunIdentity identity;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  identity.execution =
      "run:" + hex(static_cast<uint64_t>(now)).substr(2) + "-" + std::to_string(::getpid());
  identity.program = options.program;
  std::vector<std::string> words = {"deadheat", "run"};
  if (!options.missing.empty()) words.insert(words.end(), {"--missing", options.missing});
  for (const std::string& option : options.options) words.insert(words.end(), {"--option", option});
  words.emplace_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  identity.arguments = {words.begin() + 2, words.end()};
  identity.repeat = shell_quoted(words);
  return identity;
}

}  // namespace

DetectRun::DetectRun(const DetectOptions& options, std::unique_ptr<WorkFolder> folder)
    : program_(options.program.at(0)),
      folder_(std::move(folder)),
      findings_(identity_of(options)) {}

Result<std::unique_ptr<DetectRun>> DetectRun::prepare(const DetectOptions& options) {
  const auto library = runtime_folder("detect");
  if (!library) return library.error();
  auto folder = WorkFolder::create();
  if (!folder) return folder.error();
  std::unique_ptr<DetectRun> run(new DetectRun(options, std::move(folder).value()));
  const std::string path = run->raw_path();
  run->raw_ =
      ScopedFd(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!run->raw_.valid()) return errno_error("cannot create", path, errno);
  run->environment_["LD_LIBRARY_PATH"] = library_path(library.value());
  run->environment_["DEADHEAT_OPTIONS"] = runtime_environment(settings_of(options, path));
  return run;
}

std::vector<model::Candidate> DetectRun::poll() {
  std::string bytes;
  char buffer[1 << 16];
  for (ssize_t got; (got = ::read(raw_.get(), buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<size_t>(got));
  return findings_.feed(bytes);
}

model::FindingsFile DetectRun::finish() {
  model::FindingsFile file = findings_.finish();
  if (const std::string full = why_full(folder_->path()); !full.empty() && !file.origins.empty())
    file.origins.back().problems.push_back("reports may be missing: " + full);
  return file;
}

Error DetectRun::why_not_started() const {
  if (live::instrumented(find_program(program_)) != live::Instrumented::kYes)
    return {program_ + " is not instrumented: nothing was checked",
            "build it with CC=deadheat-cc CXX=deadheat-c++"};
  const std::string full = why_full(folder_->path());
  return {program_ + " is instrumented, but the runtime did not start in it: nothing was checked",
          full.empty() ? "deadheat verify " + program_ : full};
}

}  // namespace deadheat::pipeline
