#include "lib/sampler/backend/ptrace/probe.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sampler/backend/ptrace/task.h"

namespace deadheat::sampler {

std::optional<std::string> watch_problem() {
  static uint64_t watched;
  const int child = ::fork();
  if (child < 0) return "room for one more process";
  if (child == 0)
    for (;;) ::pause();
  std::optional<std::string> missing;
  int status = 0;
  PtraceTask task;
  task.id = child;
  WatchRegisters wish;
  wish.generation = 1;
  wish.all[0] = {{reinterpret_cast<uint64_t>(&watched), 8}, true, 0, 0, 1};
  if (::ptrace(PTRACE_SEIZE, child, 0, 0) != 0)
    missing = "allow ptrace (a container may need --cap-add SYS_PTRACE)";
  else if (::ptrace(PTRACE_INTERRUPT, child, 0, 0) != 0 ||
           ::waitpid(child, &status, __WALL) != child || !set_watchpoints(task, wish))
    missing = "a machine that lends its debug registers (u_debugreg)";
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, __WALL);
  return missing;
}

}  // namespace deadheat::sampler
