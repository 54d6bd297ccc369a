#include "lib/sampler/backend/ptrace/ptrace_backend.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/sampler/backend/budget.h"
#include "lib/sampler/backend/ptrace/maps.h"

namespace deadheat::sampler {
namespace {

constexpr uint64_t kArmPatienceNs = 3'000'000;  // a slower task is not watched this time
constexpr uint8_t kBreakpoint = 0xcc;

sigset_t waited_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

// The system call in which the task sleeps; -1: it is running, or the call is unknown.
int sleeps_in(int task) {
  char text[32] = "";
  const ScopedFd file(
      ::open(("/proc/" + std::to_string(task) + "/syscall").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::read(file.get(), text, sizeof text - 1) <= 0) return -1;
  return text[0] < '0' || text[0] > '9' ? -1 : std::atoi(text);
}

}  // namespace

uint64_t PtraceBackend::now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// Handles one stop, or sleeps until there is one; false if the deadline passed.
bool PtraceBackend::poll_once(uint64_t deadline_ns) {
  static const sigset_t kWaited = waited_signals();
  for (;;) {
    int status = 0;
    const int task = ::waitpid(-1, &status, __WALL | WNOHANG);
    if (task > 0) {
      on_status(task, status);
      return true;
    }
    if (task < 0 && errno == ECHILD) {
      over_ = true;
      return true;
    }
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    const uint64_t left = std::min<uint64_t>(deadline_ns - now, 1'000'000'000);
    const timespec patience{static_cast<time_t>(left / 1'000'000'000),
                            static_cast<long>(left % 1'000'000'000)};
    siginfo_t info;
    const int signal = ::sigtimedwait(&kWaited, &info, &patience);
    if (signal > 0 && signal != SIGCHLD) {
      asked_by_ = signal;
      asked_by_person_ = info.si_code > 0;
      return true;
    }
  }
}

Event PtraceBackend::wait(uint64_t deadline_ns) {
  while (events_.empty()) {
    Event event;
    event.kind = over_ ? Event::Kind::kEnded : Event::Kind::kInterrupted;
    if (over_ || asked_by_ != 0) return event;
    if (!poll_once(deadline_ns)) return {};
  }
  const Event event = events_.front();
  events_.pop_front();
  return event;
}

void PtraceBackend::release(int task) {
  const auto found = tasks_.find(task);
  if (found != tasks_.end() && found->second.stopped) resume(found->second);
}

// Every resumption goes through here, so that no task runs with old watchpoints that we could have
// changed.
void PtraceBackend::resume(PtraceTask& task) {
  if (task.generation != watch_.generation && !task.leaving) (void)set_registers(task);
  const uint64_t now = now_ns();
  if (!std::exchange(task.not_begun, false))
    task.stood.add(now, now - task.stopped_since_ns + Budget::kTrapNs);
  longest_stood_ns_ = std::max(longest_stood_ns_, task.stood.in_last_second(now));
  task.stopped = false;
  ::ptrace(PTRACE_CONT, task.id, 0, static_cast<long>(task.signal));
  task.signal = 0;
}

// False if the task has no watchpoint, which is counted.
bool PtraceBackend::set_registers(PtraceTask& task) {
  if (by_perf_ && (set_by_perf(task) || by_perf_)) return true;  // or it has ended
  if (set_watchpoints(task, watch_)) return true;
  if (errno == ENOSPC || errno == EBUSY) {
    registers_refused_++;
    usable_registers_ -= usable_registers_ > 0 ? 1 : 0;
  } else {
    not_armed_++;
  }
  return false;
}

bool PtraceBackend::set_by_perf(PtraceTask& task) {
  task.generation = watch_.generation;
  const PerfRegisters::Set done = task.perf.set(task.id, watch_);
  if (done == PerfRegisters::Set::kYes) return true;
  if (done == PerfRegisters::Set::kGone) return false;
  // One method for all tasks: each method cannot use a register that the other holds. If a debugger
  // was attached before us, the kernel keeps the task's registers for ptrace until the task ends.
  by_perf_ = false;
  for (auto& [id, one] : tasks_) {
    one.perf.close();
    one.generation = watch_.generation - 1;
  }
  return false;
}

uint8_t PtraceBackend::byte_at(uint64_t pc) const {
  uint8_t byte = 0;
  return ::pread(memory_.get(), &byte, 1, static_cast<off_t>(pc)) == 1 ? byte : uint8_t{0};
}

bool PtraceBackend::insert(uint64_t pc, uint8_t expected) {
  if (placed_.contains(pc)) return true;  // its last hit has not reached the session yet
  if (sharing_ > 0 || over_ || expected == kBreakpoint || byte_at(pc) != expected) return false;
  // Recorded before it is written: a task may reach it at once.
  ever_[pc] = expected;
  if (::pwrite(memory_.get(), &kBreakpoint, 1, static_cast<off_t>(pc)) != 1) return false;
  placed_[pc] = expected;
  return true;
}

void PtraceBackend::remove(uint64_t pc) {
  suspended_.erase(pc);
  const auto found = placed_.find(pc);
  if (found == placed_.end()) return;
  if (byte_at(pc) == kBreakpoint &&
      ::pwrite(memory_.get(), &found->second, 1, static_cast<off_t>(pc)) != 1)
    not_removed_++;
  placed_.erase(found);
}

uint64_t PtraceBackend::take_registers(int except, std::span<const WatchPiece> pieces,
                                       bool reads_too) {
  std::vector<size_t> free;
  for (size_t i = 0; i < usable_registers_; ++i)
    if (watch_.all[i].watch == 0) free.push_back(i);
  if (pieces.empty() || free.size() < pieces.size()) return 0;
  const uint64_t watch = ++watch_.generation;
  for (size_t i = 0; i < pieces.size(); ++i)
    watch_.all[free[i]] = {pieces[i], reads_too, except, watch, watch};
  return watch;
}

// When perf sets the registers, no task is stopped, and sleeping ones get them too.
uint64_t PtraceBackend::arm(int except, std::span<const WatchPiece> pieces, bool reads_too) {
  const uint64_t watch = take_registers(except, pieces, reads_too);
  if (watch == 0) return 0;
  for (auto& [id, task] : tasks_)
    if (by_perf_ && id != except && !task.leaving) (void)set_by_perf(task);
  if (by_perf_) return watch;
  std::vector<int> asked;
  ask_to_stop(except, asked);
  const auto unarmed = [&] {
    return std::count_if(asked.begin(), asked.end(), [&](int id) {
      const auto found = tasks_.find(id);
      return found != tasks_.end() && !found->second.stopped && !found->second.listening &&
             !found->second.leaving && found->second.generation != watch_.generation;
    });
  };
  const uint64_t deadline = now_ns() + kArmPatienceNs;
  auto missing = unarmed();
  while (missing > 0 && !over_ && poll_once(deadline)) missing = unarmed();
  not_armed_ += static_cast<uint64_t>(missing);
  return watch;
}

void PtraceBackend::ask_to_stop(int except, std::vector<int>& asked) {
  for (auto& [id, task] : tasks_) {
    if (id == except || task.stopped || task.listening || task.leaving) continue;
    if (!may_interrupt(id)) {
      asleep_++;
      continue;
    }
    if (!task.interrupted && ::ptrace(PTRACE_INTERRUPT, id, 0, 0) != 0) continue;
    task.interrupted = true;
    asked.push_back(id);
  }
}

// A trap from perf stays pending while SIGTRAP is blocked, unnoticed by us. Such tasks
// are stopped once, and SIGTRAP is unblocked there. A few at a time: each check reads a
// file.
void PtraceBackend::find_blocked_traps() {
  constexpr size_t kMost = 16;
  auto at = tasks_.upper_bound(last_checked_);
  for (size_t i = 0; by_perf_ && i < std::min(kMost, tasks_.size()); ++i, ++at) {
    if (at == tasks_.end()) at = tasks_.begin();
    PtraceTask& task = at->second;
    last_checked_ = task.id;
    if (task.stopped || task.listening || task.leaving || task.interrupted) continue;
    if (!blocks_trap(task.id) || !may_interrupt(task.id)) continue;
    task.interrupted = ::ptrace(PTRACE_INTERRUPT, task.id, 0, 0) == 0;
  }
}

uint64_t PtraceBackend::stood_ns(int task) {
  const uint64_t now = now_ns();
  uint64_t longest = 0;
  for (auto& [id, one] : tasks_)
    if (id == task || task == kEveryTask || !by_perf_)
      longest = std::max(longest, one.stood.in_last_second(now));
  return longest;
}

// The tasks keep it until they are stopped for another reason: a trap of it is then stale.
void PtraceBackend::disarm(uint64_t watch) {
  watch_.generation++;
  for (WatchRegisters::Register& one : watch_.all)
    if (one.watch == watch) one = {{}, false, 0, 0, watch_.generation};
}

void PtraceBackend::disarm_all() {
  for (const WatchRegisters::Register& one : watch_.all)
    if (one.watch != 0) disarm(one.watch);
}

// An interrupted call restarts, unseen by the program; but some calls end with EINTR instead
// (signal(7), "even in the absence of signal handlers"). Tasks that sleep in those are left alone:
// accesses made if they wake now are missed, which is counted.
bool PtraceBackend::may_interrupt(int task) const {
  switch (sleeps_in(task)) {
    case -1:   // running
    case 7:    // poll
    case 23:   // select
    case 34:   // pause
    case 35:   // nanosleep
    case 61:   // wait4
    case 202:  // futex
    case 219:  // one of these, interrupted before
    case 230:  // clock_nanosleep
    case 247:  // waitid
    case 270:  // pselect6
    case 271:  // ppoll
      return true;
    default:
      return false;
  }
}

size_t PtraceBackend::look() {
  constexpr size_t kMost = 8;
  size_t asked = 0;
  for (auto& [id, task] : tasks_) {
    if (task.stopped || task.listening || task.leaving || task.interrupted) continue;
    if (sleeps_in(id) != -1 || ::ptrace(PTRACE_INTERRUPT, id, 0, 0) != 0) continue;
    task.interrupted = true;
    if (++asked == kMost) break;
  }
  return asked;
}

void PtraceBackend::note_pc(const PtraceTask& task) {
  constexpr size_t kMost = 64;
  user_regs_struct registers{};
  if (pcs_.size() < kMost && ::ptrace(PTRACE_GETREGS, task.id, 0, &registers) == 0)
    pcs_.push_back(registers.rip);
}

bool PtraceBackend::read(uint64_t address, std::span<uint8_t> into) {
  return ::pread(memory_.get(), into.data(), into.size(), static_cast<off_t>(address)) ==
         static_cast<ssize_t>(into.size());
}

std::vector<LoadedModule> PtraceBackend::modules() {
  catches_trap_ = catches_trap(process_);
  find_blocked_traps();
  auto text = read_file("/proc/" + std::to_string(process_) + "/maps");
  if (!text) return {};
  if (text.value() == maps_text_) return modules_;
  maps_text_ = std::move(text).value();
  stack_end_ = main_stack_end(maps_text_);
  auto now = modules_in(maps_text_, files_);
  if (now != modules_) unwinder_.reset();
  modules_ = std::move(now);
  return modules_;
}

std::vector<uint64_t> PtraceBackend::stack(int task) {
  if (!unwinder_) unwinder_ = std::make_unique<Unwinder>(process_, modules());
  return unwinder_->stack(task);
}

std::string PtraceBackend::task_name(int task) {
  const auto text =
      read_file("/proc/" + std::to_string(process_) + "/task/" + std::to_string(task) + "/comm");
  return text ? std::string(trim(text.value())) : std::string();
}

// A thread's control block (fs) is at the end of its stack, except for the first thread's.
bool PtraceBackend::on_stack(const user_regs_struct& registers, uint64_t address) {
  constexpr uint64_t kRedZone = 128, kLargest = uint64_t{1} << 30;
  if (address < registers.rsp - kRedZone) return false;
  const uint64_t sp = registers.rsp;
  if (registers.fs_base > sp && registers.fs_base - sp < kLargest)
    return address < registers.fs_base;
  return sp < stack_end_ && stack_end_ - sp < kLargest && address < stack_end_;
}

Counters PtraceBackend::counters() const {
  return {
      {"threads_not_watched", not_armed_,
       "times a thread could not be given the watchpoint in time", true},
      {"threads_asleep", asleep_,
       "times a thread that slept in a system call was not given the watchpoint", true},
      {"registers_refused", registers_refused_,
       "times another tool took a thread's debug registers", true},
      {"traps_blocked", blocked_traps_,
       "touches were reported too late: the thread blocked SIGTRAP", true},
      {"longest_standstill_us", longest_stood_ns_ / 1000,
       "microseconds, at most, did one thread stand in one second", false},
      {"stale_traps", stale_traps_, "threads ran into a watchpoint of an earlier sample", false},
      {"late_breakpoints", late_traps_, "threads reached a breakpoint that was just removed",
       false},
      {"children_not_watched", children_let_go_, "child processes were let go unwatched", true},
      {"breakpoints_not_removed", not_removed_, "breakpoints could not be removed", true},
  };
}

}  // namespace deadheat::sampler
