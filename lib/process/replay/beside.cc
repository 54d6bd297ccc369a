#include "lib/process/replay/beside.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>

#include "lib/base/file.h"
#include "lib/process/judge/user_checker.h"

namespace deadheat::process::replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMost = 16;
constexpr useconds_t kLook_us = 5000;
constexpr double kGrace_s = 2;  // between asking the command to end and killing it

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

struct Beside::Shared {
  std::atomic<bool> done{false};
  BesideEnd ends[kMost];
};

Result<Beside> Beside::prepare(const std::vector<std::string>& commands,
                               const sandbox::Command& like, const std::string& folder) {
  if (commands.size() > kMost)
    return Error{"at most " + std::to_string(kMost) + " checkers can run beside a command", ""};
  Beside all;
  if (commands.empty()) return all;
  for (size_t i = 0; i < commands.size(); i++) {
    sandbox::Command own = process::judge::beside({"/bin/sh", "-c", commands[i]}, like);
    for (const bool error : {false, true}) {
      const std::string path = folder + "/beside" + std::to_string(i) + (error ? ".err" : ".out");
      ScopedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      if (!file.valid()) return errno_error("create", path, errno);
      (error ? own.standard_error : own.standard_out) = file.get();
      all.files_.push_back(std::move(file));
    }
    all.commands_.push_back(std::move(own));
  }
  return all;
}

std::vector<int> Beside::descriptors() const {
  std::vector<int> all;
  for (const ScopedFd& file : files_) all.push_back(file.get());
  return all;
}

void Beside::start(sandbox::Inside& inside, int server, double timeout_s) {
  if (empty() || started()) return;
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  shared_ = new (page) Shared;
  // A program that does not end reports only that.
  for (BesideEnd& end : shared_->ends) end.timed_out = true;
  const pid_t child = ::fork();
  if (child == 0) {
    watch(inside, server, timeout_s);
    ::_exit(0);
  }
  watcher_ = child > 0 ? child : 0;
}

// Runs in the intermediate process.
void Beside::watch(sandbox::Inside& inside, int server, double timeout_s) {
  const auto deadline = after(timeout_s);
  std::vector<int> running;
  for (const sandbox::Command& one : commands_) {
    const auto pid = inside.start(one, {});
    running.push_back(pid ? pid.value() : 0);
  }
  size_t left = running.size();
  while (left > 0 && Clock::now() < deadline) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0 && errno == ECHILD) break;
    if (ended <= 0) {
      ::usleep(kLook_us);
      continue;
    }
    const auto found = std::find(running.begin(), running.end(), ended);
    if (found == running.end()) continue;
    shared_->ends[found - running.begin()] = {shell_status(status), false};
    *found = 0;
    left--;
  }
  for (const int pid : running)
    if (pid > 0) ::kill(-pid, SIGKILL);
  shared_->done = true;
  if (server == 0) return;
  ::kill(server, SIGTERM);
  for (const auto end = after(kGrace_s); Clock::now() < end; ::usleep(kLook_us))
    if (::kill(server, 0) != 0) return;
  ::kill(server, SIGKILL);
}

std::vector<BesideEnd> Beside::finish() {
  if (!started()) return {};
  // The intermediate process keeps the time; the command may have killed it too.
  while (!shared_->done && ::kill(watcher_, 0) == 0) {
    if (::waitpid(watcher_, nullptr, WNOHANG) == watcher_) break;
    ::usleep(kLook_us);
  }
  return {shared_->ends, shared_->ends + commands_.size()};
}

}  // namespace deadheat::process::replay
