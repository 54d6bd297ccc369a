#include "lib/pipeline/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/base/descendants.h"
#include "lib/base/environment.h"
#include "lib/base/find_program.h"
#include "lib/base/scoped_fd.h"
#include "lib/live/instrumented.h"

namespace deadheat::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 200;
constexpr int kNoResources = 77;  // a limit of the machine; the program may be fine
constexpr double kGrace_s = 2;    // longest time between SIGTERM and SIGKILL
constexpr std::array kForwarded = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t g_child = 0;
volatile sig_atomic_t g_told_to_stop = 0;

// The terminal sends its signals to the program too, as a member of our group; forward only a
// signal that was sent to us alone.
void forward(int signal, siginfo_t* info, void* /*context*/) {
  const pid_t child = g_child;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) g_told_to_stop = signal;
  if (child > 0 && info->si_code <= 0) ::kill(child, signal);
}

// Catches signals that would end us while the program runs, and restores the handlers at the end.
// Such signals stay blocked until started() in both processes: before that there is no process to
// forward them to.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    g_told_to_stop = 0;
    sigset_t waiting;
    ::sigemptyset(&waiting);
    for (const int signal : kForwarded) ::sigaddset(&waiting, signal);
    ::sigprocmask(SIG_BLOCK, &waiting, &mask_);
    struct sigaction action{};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t i = 0; i < kForwarded.size(); ++i) {
      ::sigaction(kForwarded[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~ForwardedSignals() {
    g_child = 0;
    give_back();
  }
  void started(pid_t child) const {
    g_child = child;
    if (child == 0) give_back();
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

 private:
  void give_back() const {
    for (size_t i = 0; i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &before_[i], nullptr);
  }
  std::array<struct sigaction, kForwarded.size()> before_{};
  sigset_t mask_{};
};

int wait_status(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Asks the child to end, and kills it if it does not.
class Ending {
 public:
  Ending(pid_t child, double grace_s) : child_(child), grace_(grace_s) {}
  bool asked() const { return asked_; }
  void ask(bool tell) {
    if (!asked_ && tell) ::kill(child_, SIGTERM);
    if (!asked_) since_ = Clock::now();
    if (Clock::now() - since_ >= grace_) ::kill(child_, SIGKILL);
    asked_ = true;
  }

 private:
  const pid_t child_;
  const std::chrono::duration<double> grace_;
  Clock::time_point since_;
  bool asked_ = false;
};

// Waits until the child can be reaped; returns true if its time was over.
bool watch(pid_t child, const Launch& what) {
  const ScopedFd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const auto started = Clock::now();
  const auto limit = std::chrono::duration<double>(what.timeout_s);
  // Keep short limits short: a limit of seconds does not get as many seconds of grace.
  const double grace_s =
      what.timeout_s > 0 ? std::clamp(what.timeout_s / 4, 0.2, kGrace_s) : kGrace_s;
  Ending late(child, grace_s), stopped(child, kGrace_s);
  for (;;) {
    // Without pidfds in the kernel, poll more often.
    struct pollfd wanted{handle.get(), POLLIN, 0};
    ::poll(&wanted, handle.valid() ? 1 : 0, handle.valid() ? kPollMs : kPollMs / 10);
    siginfo_t info{};
    const bool over =
        ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child;
    if (what.poll) what.poll();
    if (over) return late.asked();
    if (what.timeout_s > 0 && Clock::now() - started >= limit) late.ask(true);
    // Leave Ctrl-C to the program: a debugger continues after it.
    if (what.whole_tree && (g_told_to_stop == SIGTERM || g_told_to_stop == SIGHUP))
      stopped.ask(false);
  }
}

Error cannot_run(const std::string& program, int error, int& code) {
  code = error == ENOENT ? 127 : error == ENOMEM || error == EAGAIN ? kNoResources : 126;
  if (error == ENOENT) return {"cannot find " + program, "is it built, or in PATH?"};
  return {"cannot run " + program + ": " + std::strerror(error),
          error == ENOEXEC ? "is it a program? a script needs a first line such as #!/bin/sh" : ""};
}

}  // namespace

Result<Ended> launch(const Launch& what, int& code) {
  const std::string path = find_program(what.command.at(0));
  if (path.empty()) return cannot_run(what.command[0], ENOENT, code);
  std::vector<std::string> words = what.command;
  std::vector<std::string> environment = environment_with(what.environment);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_run(path, errno, code);
  const ScopedFd told(ends[0]);
  ScopedFd tell(ends[1]);
  std::fflush(nullptr);
  std::optional<AdoptOrphans> adopt;
  if (what.whole_tree || what.timeout_s > 0) adopt.emplace();
  const pid_t parent = ::getpid();
  const ForwardedSignals signals;
  const pid_t child = ::fork();
  const int fork_error = errno;
  signals.started(child);
  if (child < 0) return cannot_run(path, fork_error, code);
  if (child == 0) {
    // If our tool is killed, kill the program too: nobody would read its reports.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) ::execve(path.c_str(), argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t said = ::write(ends[1], &error, sizeof error);
    ::_exit(127);
  }
  tell = ScopedFd();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(told.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == sizeof error) {
    wait_status(child);
    return cannot_run(path, error, code);
  }
  Ended ended;
  ended.timed_out = watch(child, what);
  ended.code = wait_status(child);
  ended.told_to_stop = g_told_to_stop;
  if (what.whole_tree || ended.timed_out) adopt->end_all();
  return ended;
}

Result<std::string> runtime_folder(const std::string& mode) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder =
      (self.parent_path() / "../lib/deadheat" / mode).lexically_normal();
  const std::filesystem::path library = folder / "libdeadheat.so.1";
  if (!error && std::filesystem::exists(library, error)) return folder.string();
  return Error{"the runtime library is missing: " + library.string(),
               "build or install Deadheat completely (./deadheat builds it)"};
}

std::string library_path(const std::string& folder) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  return before == nullptr || before[0] == '\0' ? folder : folder + ":" + before;
}

}  // namespace deadheat::pipeline
