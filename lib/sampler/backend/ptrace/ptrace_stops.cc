// Interprets and handles each stop.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "lib/sampler/backend/budget.h"
#include "lib/sampler/backend/ptrace/ptrace_backend.h"

namespace deadheat::sampler {
namespace {

constexpr uint8_t kTrapByte = 0xcc;

bool is_job_control(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

void PtraceBackend::on_status(int task, int status) {
  const bool gone = WIFEXITED(status) || WIFSIGNALED(status);
  auto found = tasks_.find(task);
  if (found == tasks_.end() && children_.contains(task)) return on_foreign(task, status);
  if (gone) {
    if (found != tasks_.end()) tasks_.erase(found);
    early_.erase(task);
    if (task == process_) end_status_ = status;
    if (task == process_ || tasks_.empty()) over_ = true;
    return;
  }
  if (found == tasks_.end()) {
    if (status_number(task, "Tgid") != process_) {
      early_[task] = status;  // a child not yet announced by its parent
      return;
    }
    add_task(task);
    found = tasks_.find(task);
  }
  found->second.stopped = true;
  found->second.stopped_since_ns = now_ns();
  if (detaching_) return settle(found->second, status);
  on_stop(found->second, status);
}

void PtraceBackend::add_task(int id) {
  if (!tasks_.try_emplace(id).second) return;
  tasks_[id].id = id;
  if (tasks_.size() != 2) return;
  Event event;
  event.kind = Event::Kind::kSecondTask;
  events_.push_back(event);
}

void PtraceBackend::on_stop(PtraceTask& task, int status) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (event == PTRACE_EVENT_STOP) {
    task.interrupted = false;
    if (catches_trap_ || by_perf_) unblock_trap(task.id);
    task.listening = is_job_control(signal);
    if (!task.listening) {
      note_pc(task);
      return resume(task);
    }
    task.stopped = false;
    ::ptrace(PTRACE_LISTEN, task.id, 0, 0);
    return;
  }
  if (event != 0) return on_event(task, event);
  if (signal == SIGTRAP) return on_trap(task);
  task.signal = signal;
  if (catches_trap_) ::ptrace(PTRACE_INTERRUPT, task.id, 0, 0);  // in its handler
  resume(task);
}

// If the task has hit a breakpoint of ours, past or present, sets its pc back.
bool PtraceBackend::set_back(PtraceTask& task, user_regs_struct& registers) {
  if (::ptrace(PTRACE_GETREGS, task.id, 0, &registers) != 0) return false;
  if (!ever_.contains(registers.rip - 1)) return false;
  registers.rip -= 1;
  return ::ptrace(PTRACE_SETREGS, task.id, 0, &registers) == 0;
}

void PtraceBackend::on_trap(PtraceTask& task) {
  siginfo_t info{};
  ::ptrace(PTRACE_GETSIGINFO, task.id, 0, &info);
  Event event;
  event.task = task.id;
  if (info.si_code == SI_KERNEL && set_back(task, event.registers)) {
    event.pc = event.registers.rip;
    if (placed_.contains(event.pc)) {
      remove(event.pc);
      event.kind = Event::Kind::kBreakpoint;
      events_.push_back(event);
      return;
    }
    late_traps_++;
    stopped_ns_ += Budget::kTrapNs;
    return resume(task);
  }
  Fired fired = info.si_code == TRAP_HWBKPT ? take_fired(task, watch_) : Fired{};
  if (const uint64_t watch = watch_of_trap(info); watch != 0) {
    fired.ours = true;
    blocked_traps_ += trap_was_blocked(info) ? 1 : 0;
    if (watch_.is_armed(watch) && !trap_was_blocked(info)) fired.watches = {watch};
  }
  if (fired.ours) {
    if (!fired.watches.empty() && ::ptrace(PTRACE_GETREGS, task.id, 0, &event.registers) == 0) {
      event.kind = Event::Kind::kWatchpoint;
      event.pc = event.registers.rip;
      event.watches = std::move(fired.watches);
      events_.push_back(event);
      return;
    }
    stale_traps_++;
    stopped_ns_ += Budget::kTrapNs;
    return resume(task);
  }
  task.signal = SIGTRAP;  // the program's own
  catches_trap_ = catches_trap(process_);
  if (catches_trap_) ::ptrace(PTRACE_INTERRUPT, task.id, 0, 0);
  resume(task);
}

void PtraceBackend::on_event(PtraceTask& task, int event) {
  if (event == PTRACE_EVENT_EXEC) return on_exec(task.id);
  if (event == PTRACE_EVENT_EXIT) {
    task.leaving = true;
    // We may end before it does; that must not kill the program (EXITKILL).
    ::ptrace(PTRACE_SETOPTIONS, task.id, 0, 0);
  }
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
    on_child_of(task.id, event);
  resume(task);
}

// All other tasks have ended, and the memory with our changes is gone.
void PtraceBackend::on_exec(int id) {
  executed_++;
  tasks_.clear();
  placed_.clear();
  suspended_.clear();
  ever_.clear();
  events_.clear();
  unwinder_.reset();
  modules_.clear();
  maps_text_.clear();
  files_.forget();
  catches_trap_ = false;
  disarm_all();
  PtraceTask& task = tasks_[id];
  task.id = id;
  task.stopped = task.not_begun = true;
  task.generation = watch_.generation;
  (void)open_memory();
  Event event;
  event.kind = Event::Kind::kNewProgram;
  event.task = id;
  events_.push_back(event);
}

void PtraceBackend::on_child_of(int parent, int event) {
  unsigned long message = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, parent, 0, &message) != 0) return;
  const int child = static_cast<int>(message);
  const int group = status_number(child, "Tgid");
  if (group == process_) {
    // A thread: it will stop as one. It counts from now on: detaching must wait for that stop.
    add_task(child);
    return;
  }
  // A thread may stop, continue and end before its parent's notification is read. A task that has
  // ended shares nothing any more.
  if (group == 0) return;
  // A copy is cleaned and released; a child that may share the memory forbids breakpoints in it.
  // The event type depends on the signal at the child's end: clone(CLONE_VM SIGCHLD) is reported as
  // a fork. If the kernel cannot compare memories, only a fork counts as a copy.
  const bool shares = shares_memory(parent, child).value_or(event != PTRACE_EVENT_FORK);
  const Child kind = shares ? Child::kShares : Child::kCopy;
  children_[child] = kind;
  if (kind == Child::kShares) {
    sharing_++;
    while (!placed_.empty()) {
      const auto [pc, original] = *placed_.begin();
      remove(pc);
      suspended_[pc] = original;
    }
  }
  const auto early = early_.find(child);
  if (early == early_.end()) return;
  const int status = early->second;
  early_.erase(early);
  on_foreign(child, status);
}

// Any breakpoint that ever existed may be in the copy. Page by page: there may be tens of
// thousands, and the child waits.
void PtraceBackend::clean_copy(int child) const {
  constexpr uint64_t kPage = 4096;
  const ScopedFd memory(
      ::open(("/proc/" + std::to_string(child) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  std::vector<uint8_t> bytes(kPage);
  uint64_t page = UINT64_MAX;
  bool readable = false;
  for (const auto& [pc, original] : ever_) {
    if (pc / kPage != page) {
      page = pc / kPage;
      readable = ::pread(memory.get(), bytes.data(), kPage, static_cast<off_t>(page * kPage)) ==
                 static_cast<ssize_t>(kPage);
    }
    if (readable && bytes[pc % kPage] == kTrapByte)
      (void)!::pwrite(memory.get(), &original, 1, static_cast<off_t>(pc));
  }
}

void PtraceBackend::on_foreign(int task, int status) {
  const auto forget = [&] {
    if (children_[task] == Child::kShares) sharing_--;
    children_.erase(task);
    if (sharing_ > 0 || detaching_) return;
    for (const auto& [pc, original] : std::exchange(suspended_, {})) (void)insert(pc, original);
  };
  if (WIFEXITED(status) || WIFSIGNALED(status)) return forget();
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (children_[task] == Child::kCopy || event == PTRACE_EVENT_EXEC) {
    if (event != PTRACE_EVENT_EXEC) clean_copy(task);
    ::ptrace(PTRACE_DETACH, task, 0, event == 0 ? static_cast<long>(signal) : 0L);
    children_let_go_++;
    return forget();
  }
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
    on_child_of(task, event);
  if (event == PTRACE_EVENT_STOP && is_job_control(signal)) {
    ::ptrace(PTRACE_LISTEN, task, 0, 0);
    return;
  }
  ::ptrace(PTRACE_CONT, task, 0, event == 0 ? static_cast<long>(signal) : 0L);
}

}  // namespace deadheat::sampler
