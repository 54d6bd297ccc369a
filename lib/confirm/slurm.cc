#include "lib/confirm/slurm.h"

#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/find_program.h"
#include "lib/base/shell_words.h"
#include "lib/base/text.h"

namespace deadheat::confirm {
namespace {

constexpr double kPatience_s = 60;

// The command's output if it succeeded.
Result<std::string> ask(const std::vector<std::string>& command, const std::string& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return errno_error("cannot make", folder, errno);
  ChildRequest request;
  request.command = command;
  request.folder = folder;
  request.timeout_s = kPatience_s;
  const auto ended = run_child(request);
  if (!ended) return ended.error();
  const auto out = read_file(folder + "/out"), err = read_file(folder + "/err");
  if (ended.value().status != 0 || ended.value().signal != 0)
    return Error{command[0] + " failed: " + std::string(trim(err ? err.value() : "")),
                 "sinfo shows partitions and nodes"};
  return std::string(trim(out ? out.value() : ""));
}

}  // namespace

Status Slurm::submit(const std::vector<std::string>& command, size_t count,
                     const std::string& logs) {
  if (find_program("sbatch").empty())
    return Error{"sbatch is not there: no Slurm on this machine",
                 "run it where jobs can be submitted, or without --on"};
  logs_ = logs;
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--requeue",
                                    "--job-name=deadheat",
                                    "--array=1-" + std::to_string(count),
                                    "--ntasks=1",
                                    "--output=" + logs + "/worker.%a.log"};
  if (!partition_.empty()) words.push_back("--partition=" + partition_);
  words.push_back("--wrap=exec " + shell_quoted(command));
  auto job = ask(words, logs + "/sbatch");
  if (!job) return job.error();
  job_ = job->substr(0, job->find(';'));
  return Ok{};
}

void Slurm::cancel() {
  if (!job_.empty()) (void)ask({"scancel", "--quiet", job_}, logs_ + "/scancel");
  job_.clear();
}

// Slurm forgets a job some minutes after its end.
bool Slurm::all_ended() {
  auto jobs = ask({"squeue", "--noheader", "--jobs", job_, "--format", "%t"}, logs_ + "/squeue");
  if (jobs) return jobs->empty();
  return jobs.error().message.find("Invalid job id") != std::string::npos;
}

}  // namespace deadheat::confirm
