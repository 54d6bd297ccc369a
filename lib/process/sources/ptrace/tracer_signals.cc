// Signals under the tracer: which are deferred, how they are delivered later, and the events of
// sending and delivery.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "lib/process/recording/event.h"
#include "lib/process/recording/syscall_table.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {
namespace {

// Raised by the instruction itself, or job control: these cannot be deferred.
bool cannot_wait(const siginfo_t& signal) {
  switch (signal.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
      return signal.si_code > 0;
    case SIGKILL:
    case SIGSTOP:
    case SIGCONT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Tracer::at_signal(TracedTask& task, int signal) {
  siginfo_t about{};
  if (::ptrace(PTRACE_GETSIGINFO, task.id(), nullptr, &about) != 0) return resume(task, signal);
  if (!options_.calls) return resume(task, signal);
  const auto again = std::find_if(task.sent_again.begin(), task.sent_again.end(),
                                  [&](const siginfo_t& one) { return one.si_signo == signal; });
  if (again != task.sent_again.end()) {
    about = *again;
    ::ptrace(PTRACE_SETSIGINFO, task.id(), nullptr, &about);
    task.sent_again.erase(again);
  } else if (!cannot_wait(about)) {
    errno = 0;
    const auto here = static_cast<uint64_t>(
        ::ptrace(PTRACE_PEEKUSER, task.id(), offsetof(user_regs_struct, rip), nullptr));
    // A call that will be restarted has its instruction two bytes back.
    const bool at_call = here == task.after_call || here + 2 == task.after_call;
    if (!controller_.deliver(task, about, at_call)) {
      task.deferred.push_back(about);
      return resume(task, 0);
    }
  }
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_SIGNAL_DELIVERED;
  head.task = task.id();
  head.process = task.process;
  head.begin = head.end = ++number_;
  head.time_ns = task.call.head().time_ns;
  head.number = static_cast<uint32_t>(signal);
  head.arguments[0] = static_cast<uint64_t>(about.si_code);
  head.arguments[1] = task.tracee.catches(signal) ? 1 : 0;
  head.arguments[2] = recording::was_interrupted(task.last_result) ? 1 : 0;
  head.arguments[3] =
      about.si_code <= 0 || signal == SIGCHLD ? static_cast<uint64_t>(about.si_pid) : 0;
  emit(recording::EventBuilder(head).take());
  controller_.delivered(task, signal);
  resume(task, signal);
}

// ptrace does not report sending; the arguments of the sending call name the target.
void Tracer::emit_sent(TracedTask& task) {
  if (recording::syscall_entry(task.call.number()).effect != recording::Effect::kKill) return;
  const bool to_task = task.call.number() == SYS_tkill || task.call.number() == SYS_tgkill ||
                       task.call.number() == SYS_rt_tgsigqueueinfo;
  const bool has_group =
      task.call.number() == SYS_tgkill || task.call.number() == SYS_rt_tgsigqueueinfo;
  const int target = static_cast<int>(task.call.argument(has_group ? 1 : 0));
  const auto signal = static_cast<uint32_t>(task.call.argument(has_group ? 2 : 1));
  if (signal == 0) return;
  const int group = target == 0 ? ::getpgid(task.process) : -target;
  for (const auto& [id, other] : tasks_) {
    const bool meant = to_task ? id == target
                               : id == other.process && (target > 0     ? id == target
                                                         : target == -1 ? id != task.process
                                                                        : ::getpgid(id) == group);
    if (!meant) continue;
    deadheat_process_event head{};
    head.kind = DEADHEAT_PROCESS_SIGNAL_SENT;
    head.task = task.id();
    head.process = task.process;
    head.begin = head.end = ++number_;
    head.time_ns = task.call.head().time_ns;
    head.number = signal;
    head.arguments[0] = static_cast<uint64_t>(id);
    head.arguments[1] = static_cast<uint64_t>(other.process);
    head.arguments[3] = to_task ? 0 : 1;
    emit(recording::EventBuilder(head).take());
  }
}

}  // namespace deadheat::process::sources
