// Runs a command under the bpf source without a sandbox: PID 1 of a new PID namespace (with its own
// /proc) starts it and reaps everything. For the source's test and for bench/process; the tool
// itself uses sandbox.h.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "lib/process/sources/bpf/bpf_source.h"

namespace deadheat::process::sources {

struct BpfRun {
  int status = 0;  // as returned by wait
  BpfCounters counters;
};

// The life of PID 1: wait for the start signal, start the command, reap until no process is left.
[[noreturn]] inline void be_first(int begin, const std::vector<std::string>& words) {
  char word;
  if (::read(begin, &word, 1) != 1) ::_exit(126);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", 0, nullptr) != 0)
    ::_exit(126);
  const pid_t command = ::fork();
  if (command == 0) {
    std::vector<char*> raw;
    for (const std::string& one : words) raw.push_back(const_cast<char*>(one.c_str()));
    raw.push_back(nullptr);
    ::execvp(raw[0], raw.data());
    ::_exit(127);
  }
  int status = 0, one;
  for (pid_t who; (who = ::wait(&one)) > 0;)
    if (who == command) status = one;
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

// Without a source the command runs in the same environment without being recorded: the
// baseline.
inline Result<BpfRun> run_first(const std::vector<std::string>& words, BpfSource* source) {
  int begin[2];
  if (::pipe2(begin, O_CLOEXEC) != 0) return Error{"no pipe", ""};
  const auto first = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD,
                                                  nullptr, nullptr, nullptr, nullptr));
  if (first == 0) {
    ::close(begin[1]);
    be_first(begin[0], words);
  }
  ::close(begin[0]);
  const Status followed = source != nullptr ? source->follow(first) : Status(Ok{});
  if (followed && ::write(begin[1], "", 1) != 1) return Error{"cannot begin", ""};
  ::close(begin[1]);
  BpfRun run;
  ::waitpid(first, &run.status, 0);
  if (!followed) return followed.error();
  if (source != nullptr) {
    source->stop();
    run.counters = source->counters();
  }
  return run;
}

inline Result<BpfRun> bpf_run(const std::vector<std::string>& words,
                              recording::RecordingWriter& writer, const BpfOptions& options) {
  auto source = BpfSource::start(options, writer);
  if (!source) return source.error();
  return run_first(words, &source.value());
}

}  // namespace deadheat::process::sources
