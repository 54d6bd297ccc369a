// Attaching to, starting and detaching from the watched process.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "lib/base/file.h"
#include "lib/sampler/backend/ptrace/ptrace_backend.h"

namespace deadheat::sampler {
namespace {

constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                          PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
constexpr uint64_t kDetachPatienceNs = 2'000'000'000;

std::string name_of(int process) { return "process " + std::to_string(process); }

Error seize_error(int process, int number) {
  if (number == ESRCH) return {name_of(process) + " does not exist", "ps -e lists those that do"};
  const int tracer = status_number(process, "TracerPid");
  if (tracer != 0)
    return {name_of(process) + " is traced already, by process " + std::to_string(tracer),
            "a process has one tracer at a time: end that debugger first"};
  if (number == EPERM && status_text(process, "State").starts_with('Z'))
    return {name_of(process) + " has ended; only its parent has not been told yet", ""};
  if (number == EPERM && status_text(process, "VmSize").empty())
    return {name_of(process) + " is a thread of the kernel",
            "deadheat watch --kernel watches the kernel"};
  if (number == EPERM && ::geteuid() == 0)
    return {"the kernel does not allow even root to watch " + name_of(process),
            "a container without CAP_SYS_PTRACE, or a security module (Yama, SELinux, AppArmor)"};
  if (number == EPERM)
    return {"no permission to watch " + name_of(process),
            "be its owner or root; /proc/sys/kernel/yama/ptrace_scope must be 0 for processes that "
            "are not yours to start"};
  return {"cannot watch " + name_of(process) + ": " + std::strerror(number), ""};
}

}  // namespace

// Each thread of the target may need a descriptor per debug register. Stopped threads wait for us:
// on a busy machine a sample of half a millisecond took four. So this thread gets priority over all
// ordinary ones where that is allowed (root); threads that it starts do not.
PtraceBackend::PtraceBackend(int process) : process_(process), files_(process) {
  sched_param lowest{};
  lowest.sched_priority = 1;
  (void)::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

PtraceBackend::~PtraceBackend() { detach(); }

Status PtraceBackend::open_memory() {
  const std::string path = "/proc/" + std::to_string(process_) + "/mem";
  memory_ = ScopedFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (memory_.valid()) return Ok{};
  return errno_error("cannot open", path, errno);
}

// Threads may start while we go through the list: repeat until a round finds no new one.
Status PtraceBackend::seize_all() {
  const std::string folder = "/proc/" + std::to_string(process_) + "/task";
  for (bool fresh = true; fresh;) {
    fresh = false;
    DIR* const list = ::opendir(folder.c_str());
    if (list == nullptr) return seize_error(process_, ESRCH);
    int failed = 0;
    while (const dirent* entry = ::readdir(list)) {
      const int id = std::atoi(entry->d_name);
      if (id <= 0 || tasks_.contains(id)) continue;
      if (::ptrace(PTRACE_SEIZE, id, 0, kOptions) == 0) {
        tasks_[id].id = id;
        fresh = true;
      } else if (errno != ESRCH || id == process_) {
        // A thread started by a seized one is already ours: EPERM, and we are its tracer.
        if (status_number(id, "TracerPid") == ::gettid())
          tasks_[id].id = id;
        else
          failed = errno;
      }
    }
    ::closedir(list);
    if (failed != 0) return seize_error(process_, failed);
  }
  return Ok{};
}

// Begun before we came, a moment before its exec as a rule: a breakpoint would end it.
void PtraceBackend::seize_sharing_children() {
  for (const int child : children_of(process_)) {
    if (children_.contains(child) || !shares_memory(process_, child).value_or(false)) continue;
    if (::ptrace(PTRACE_SEIZE, child, 0, kOptions) != 0) continue;
    children_[child] = Child::kShares;
    sharing_++;
  }
}

Result<std::unique_ptr<PtraceBackend>> PtraceBackend::attach(int process) {
  if (process <= 0 || ::kill(process, 0) != 0) {
    if (process <= 0 || errno == ESRCH) return seize_error(process, ESRCH);
  }
  if (process == ::getpid()) return Error{"a process cannot watch itself", ""};
  const int leader = status_number(process, "Tgid");
  if (leader != 0 && leader != process)
    return Error{std::to_string(process) + " is a thread, not a process",
                 "watch -p " + std::to_string(leader)};
  std::unique_ptr<PtraceBackend> backend(new PtraceBackend(process));
  if (const Status seized = backend->seize_all(); !seized) return seized.error();
  if (const Status opened = backend->open_memory(); !opened) return opened.error();
  backend->seize_sharing_children();
  backend->catches_trap_ = catches_trap(process);
  // A thread may be in a handler just now. It stops before it continues, whenever that is.
  for (const auto& [id, task] : backend->tasks_)
    if (backend->catches_trap_ && backend->may_interrupt(id)) ::ptrace(PTRACE_INTERRUPT, id, 0, 0);
  return backend;
}

Result<std::unique_ptr<PtraceBackend>> PtraceBackend::start(const std::vector<std::string>& command,
                                                            int& code) {
  code = 77;
  int gate[2], failure[2];
  if (::pipe2(gate, O_CLOEXEC) != 0 || ::pipe2(failure, O_CLOEXEC) != 0)
    return errno_error("cannot create", "a pipe", errno);
  ScopedFd gate_out(gate[0]), gate_in(gate[1]), failure_out(failure[0]), failure_in(failure[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int child = ::fork();
  if (child < 0) return errno_error("cannot start", command[0], errno);
  if (child == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    char byte = 0;
    if (::read(gate_out.get(), &byte, 1) != 1) ::_exit(127);
    ::execvp(words[0], words.data());
    const int number = errno;
    (void)!::write(failure_in.get(), &number, sizeof number);
    ::_exit(127);
  }
  std::unique_ptr<PtraceBackend> backend(new PtraceBackend(child));
  backend->started_ = true;
  // If we are killed, so is the program: it could not continue with breakpoints in it.
  const bool seized = ::ptrace(PTRACE_SEIZE, child, 0, kOptions | PTRACE_O_EXITKILL) == 0;
  const int number = errno;
  backend->tasks_[child].id = child;
  if (!seized) {
    ::kill(child, SIGKILL);
    backend->tasks_.clear();
    ::waitpid(child, nullptr, 0);
    return seize_error(child, number);
  }
  ::close(failure_in.release());
  (void)!::write(gate_in.get(), "g", 1);
  while (backend->executed_ == 0 && !backend->over_) (void)backend->poll_once(UINT64_MAX);
  backend->events_.clear();  // already known: the session begins with it
  if (backend->executed_ > 0) return backend;
  int why = 0;
  const bool told = ::read(failure_out.get(), &why, sizeof why) == sizeof why;
  code = why == ENOENT ? 127 : 126;
  return Error{"cannot run " + command[0] + ": " + std::strerror(told ? why : ECHILD),
               why == ENOENT ? "check the name, or give a path" : ""};
}

// A trap of ours that the kernel has queued would kill the program once no tracer takes it.
bool PtraceBackend::drain(PtraceTask& task, uint64_t deadline_ns) {
  task.perf.close();
  uint64_t mask = 0;
  ::ptrace(PTRACE_GETSIGMASK, task.id, sizeof mask, &mask);
  while (trap_pending(task.id)) {
    clear_watchpoints(task);  // it may enter a handler, where SIGTRAP is blocked
    unblock_trap(task.id);
    if (::ptrace(PTRACE_CONT, task.id, 0, static_cast<long>(task.signal)) != 0) return false;
    task.signal = 0;
    int status = 0;
    while (::waitpid(task.id, &status, __WALL | WNOHANG) == 0)
      if (now_ns() > deadline_ns) return false;
    if (!WIFSTOPPED(status)) return false;
    settle(task, status);
    ::ptrace(PTRACE_SETSIGMASK, task.id, sizeof mask, &mask);
  }
  return true;
}

// A stop while detaching: our changes are undone, the program's signals are kept for it.
void PtraceBackend::settle(PtraceTask& task, int status) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  task.stopped = true;
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
    on_child_of(task.id, event);
  if (event != 0) return;
  if (signal != SIGTRAP) {
    task.signal = signal;
    return;
  }
  siginfo_t info{};
  user_regs_struct registers{};
  ::ptrace(PTRACE_GETSIGINFO, task.id, 0, &info);
  const bool ours = (info.si_code == SI_KERNEL && set_back(task, registers)) ||
                    (info.si_code == TRAP_HWBKPT && take_fired(task, watch_).ours) ||
                    watch_of_trap(info) != 0;
  if (!ours) task.signal = SIGTRAP;
}

void PtraceBackend::let_go(PtraceTask& task) {
  clear_watchpoints(task);
  ::ptrace(PTRACE_DETACH, task.id, 0, static_cast<long>(task.signal));
}

// Removes breakpoints first, so that no task hits a new one; then each task is stopped, corrected
// and released, independent of the others. Tasks asleep in calls that an interruption would end
// early are not stopped if they have no watchpoint: the kernel releases them without a stop when
// this thread ends.
void PtraceBackend::detach() {
  if (std::exchange(detached_, true)) return;
  disarm_all();
  while (!placed_.empty()) remove(placed_.begin()->first);
  const uint64_t deadline = now_ns() + kDetachPatienceNs;
  // Bytes in children that were not announced yet are restored as usual.
  detaching_ = true;
  for (auto& [id, task] : tasks_) {
    task.perf.close();
    if (task.stopped || task.leaving) continue;
    // A program that we started is killed with its tracer (EXITKILL): each task must be released.
    if (started_ || task.listening || task.has_watchpoints || trap_pending(id) || may_interrupt(id))
      ::ptrace(PTRACE_INTERRUPT, id, 0, 0);
    else
      task.leaving = true;
  }
  const auto all_gone = [&] {
    bool gone = early_.empty();
    for (auto& [id, task] : tasks_) {
      // Including those that our end would release: a signal already seen would be lost then.
      if (std::exchange(task.stopped, false)) {
        if (drain(task, deadline)) let_go(task);
        task.stopped = false;
        task.leaving = true;
      }
      gone &= task.leaving;
    }
    return gone;
  };
  while (!over_ && !all_gone() && poll_once(deadline)) {
  }
  for (const auto& [id, kind] : children_) {
    int status = 0;
    if (::ptrace(PTRACE_INTERRUPT, id, 0, 0) != 0) continue;
    while (::waitpid(id, &status, __WALL | WNOHANG) == 0 && now_ns() < deadline) {
    }
    if (WIFSTOPPED(status))
      ::ptrace(PTRACE_DETACH, id, 0, status >> 16 == 0 ? static_cast<long>(WSTOPSIG(status)) : 0L);
  }
}

int PtraceBackend::wait_for_end() {
  int status = end_status_;
  if (!over_ || status == 0) {
    int got = 0;
    if (::waitpid(process_, &got, 0) == process_) status = got;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace deadheat::sampler
