#include "lib/sampler/backend/ptrace/guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace deadheat::sampler {
namespace {

constexpr int kCannotStart = 77;

// Forwards signals that the child cannot have received itself, until it ends.
int attend(int child, bool alone, const sigset_t& waited) {
  for (;;) {
    int status = 0;
    const int got = ::waitpid(child, &status, WNOHANG);
    if (got == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (got < 0 && errno == ECHILD) return kCannotStart;
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&waited, &info);
    // A signal from the terminal (si_code > 0) went to the whole group.
    if (signal > 0 && signal != SIGCHLD && (alone || info.si_code <= 0)) ::kill(child, signal);
  }
}

}  // namespace

int run_guarded(bool alone, const std::function<int()>& work) {
  sigset_t ours, before;
  ::sigemptyset(&ours);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ours, signal);
  ::sigprocmask(SIG_BLOCK, &ours, &before);
  std::fflush(nullptr);
  const int parent = ::getpid();
  const int child = ::fork();
  if (child == 0) {
    if (alone) ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);  // it ended before we asked to be notified
    const int code = work();
    std::fflush(nullptr);
    ::_exit(code);
  }
  const int code = child < 0 ? work() : attend(child, alone, ours);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace deadheat::sampler
