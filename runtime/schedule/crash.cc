// Reports where a crash happened, then lets it take its normal course.
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/schedule/report.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, sigaction, (int signal, const struct sigaction* action, struct sigaction* old))

namespace {

void on_crash(int signal, siginfo_t*, void* context) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  REAL(sigaction)(signal, &action, nullptr);
  const auto* const state = static_cast<const ucontext_t*>(context);
  report_crash(self(), signal, static_cast<Address>(state->uc_mcontext.gregs[REG_RIP]));
  finish_reports();
  // A fault recurs when we return; a signal that was sent must be sent again.
  system_call(SYS_tgkill, process_id(), kernel_thread_id(), signal);
}

}  // namespace

void catch_crashes() {
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (const int signal : kSignals) {
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    REAL(sigaction)(signal, &action, nullptr);
  }
}

}  // namespace deadheat::runtime
