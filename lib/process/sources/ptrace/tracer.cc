#include "lib/process/sources/ptrace/tracer.h"

#include <poll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/scoped_fd.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::sources {
namespace {

constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                          PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
                          PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;

// Whether the last tick was long enough ago that time limits must be looked at.
volatile sig_atomic_t tick = 0;
// What the alarm did before: the sandbox's own watch over time and number of processes.
void (*watch_of_sandbox)(int) = nullptr;

void on_tick(int signal) {
  tick = 1;
  if (watch_of_sandbox != nullptr) watch_of_sandbox(signal);
}

// Interrupts a long wait regularly, so that time limits are noticed. A storm of stops never lets
// the loop wait: that is what `tick` is for.
class RegularWakeups {
 public:
  RegularWakeups() {
    struct sigaction ours{};
    ours.sa_handler = on_tick;
    ::sigaction(SIGALRM, nullptr, &before_);
    const bool watched = before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN;
    watch_of_sandbox = watched ? before_.sa_handler : nullptr;
    ::sigaction(SIGALRM, &ours, nullptr);
    set(20000);
  }
  RegularWakeups(const RegularWakeups&) = delete;
  RegularWakeups& operator=(const RegularWakeups&) = delete;
  ~RegularWakeups() {
    set(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void set(long microseconds) {
    const itimerval every{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  struct sigaction before_{};
};

}  // namespace

// Programs rely on registers that a call does not use for results.
void TracedTask::change_argument(int index, uint64_t value) {
  const auto info = tracee.call();
  if (!info || !tracee.set_argument(index, value)) return;
  const bool kept = std::any_of(changed.begin(), changed.end(),
                                [&](const auto& one) { return one.first == index; });
  if (!kept) changed.emplace_back(index, info->arguments[index]);
}

void TracedTask::restore_arguments() {
  for (const auto& [index, value] : changed) tracee.set_argument(index, value);
  changed.clear();
}

void TracedTask::block_signals() {
  const auto now = tracee.signal_mask();
  if (now && tracee.set_signal_mask(~uint64_t{0})) mask = now;
}

bool TracedTask::sleeps() const {
  const char state = tracee.state();
  // A vfork's parent sleeps uninterruptibly until its child has called exec.
  return state == 'S' ||
         (state == 'D' && in_call &&
          recording::syscall_entry(call.number()).effect == recording::Effect::kFork);
}

bool Controller::deliver(TracedTask& /*task*/, const siginfo_t& /*signal*/, bool at_call) {
  return at_call;
}

Tracer::Tracer(sandbox::Inside& inside, TraceOptions options, Controller& controller)
    : inside_(inside),
      options_(std::move(options)),
      controller_(controller),
      outside_(options_.peers, options_.host_network) {}

TracedTask* Tracer::find(int id) {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : &found->second;
}

double Tracer::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Tracer::emit(std::string_view event) {
  result_.events++;
  if (options_.sink) options_.sink(event);
}

void Tracer::note_file(const TracedTask& task, const std::string& link) {
  if (!options_.note_files) return;
  char path[4096];
  const std::string name = "/proc/" + std::to_string(task.id()) + "/" + link;
  const ssize_t size = ::readlink(name.c_str(), path, sizeof path);
  if (size > 0 && path[0] == '/') result_.opened.emplace(path, static_cast<size_t>(size));
}

Result<TraceResult> Tracer::run(const sandbox::Command& command) {
  auto traced = begin(command);
  if (!traced) return traced.error();
  if (!*traced) return result_;
  const RegularWakeups regular;
  while (!tasks_.empty())
    if (!next_stop()) break;
  result_.peers = outside_.problems();
  return result_;
}

// Starts the command, traced. False: it ended before, with the status in result_.
Result<bool> Tracer::begin(const sandbox::Command& command) {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  if (options_.peers != nullptr && options_.peers->wake_fd() >= 0)
    child_news_ = ScopedFd(::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  // The child reports that it is ready (it may not be traced before), and continues once it is
  // traced.
  int gate[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0)
    return Error{"cannot make a socket: " + std::string(std::strerror(errno)), ""};
  const ScopedFd ours(gate[1]);
  const bool calls = options_.calls, told_clock = controller_.clock() != nullptr;
  auto started = inside_.start(command, [&] {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::close(gate[1]);
    char go = 'r';
    if (::write(gate[0], &go, 1) != 1 || ::read(gate[0], &go, 1) != 1) ::_exit(126);
    if (calls && !install_call_filter(told_clock)) ::_exit(126);
  });
  ::close(gate[0]);
  if (!started) return started.error();
  root_ = *started;
  started_ = Clock::now();
  char ready = 0;
  if (::read(gate[1], &ready, 1) != 1) {  // it printed the reason to its standard error
    int status = 0;
    ::waitpid(root_, &status, 0);
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 126;
    return false;
  }
  if (::ptrace(PTRACE_SEIZE, root_, nullptr, kOptions) != 0)
    return Error{"cannot trace the command: " + std::string(std::strerror(errno)),
                 "ptrace is refused here (a container without SYS_PTRACE, or a hardened kernel)"};
  TracedTask& first = tasks_[root_];
  first.tracee = Tracee(root_);
  first.process = root_;
  first.path = "0";
  first.known = true;
  result_.processes.push_back(root_);
  if (::write(gate[1], "g", 1) != 1) return Error{"the command could not be started", ""};
  return true;
}

// One turn of the loop; false: the tracing is over.
bool Tracer::next_stop() {
  int status = 0;
  // While no task is held the loop sleeps in waitpid itself: two calls and a signal fewer per
  // stop.
  const bool look_only = someone_stands() || plays_peers();
  const int id = ::waitpid(-1, &status, look_only ? __WALL | WNOHANG : __WALL);
  if (id > 0) {
    handle(id, status);
    release_held();
    pass_turns();
    serve_peers(false);
    last_news_ = Clock::now();
    if (std::exchange(tick, 0) == 0) return true;
    if (time_is_up()) return false;
    interrupt_spinning();
    return true;
  }
  if (id < 0 && errno == ECHILD) return false;
  if (serve_peers(false)) return true;
  if (time_is_up()) return false;
  interrupt_spinning();
  const bool settled = turns_.settle(tasks_);
  pass_turns();
  if (!someone_stands()) {
    if (plays_peers()) wait_a_moment(20000000);
    return true;
  }
  if (!settled || !nobody_moves()) {
    wait_a_moment(settled ? 300000 : 50000);
    return true;
  }
  if (serve_peers(true)) return true;
  if (!controller_.stuck(*this)) {
    result_.stuck_as = "every task waits for another";
    kill_all();
    return false;
  }
  release_held();
  pass_turns();
  return true;
}

// Whether a task waits for something that we decide.
bool Tracer::someone_stands() const {
  return turns_.anyone_waits() || std::any_of(tasks_.begin(), tasks_.end(), [](const auto& one) {
           return one.second.held || one.second.resting;
         });
}

// A task that waits for an answer that is not due yet gets it if nothing else happens for a moment.
bool Tracer::serve_peers(bool nobody_moves) {
  constexpr auto kMoment = std::chrono::milliseconds(5);
  if (options_.peers == nullptr) return false;
  const bool served = options_.peers->serve(nobody_moves || Clock::now() - last_news_ > kMoment);
  if (served) last_news_ = Clock::now();
  return served;
}

void Tracer::wait_a_moment(long nanoseconds) {
  if (child_news_.valid()) {
    pollfd news[2] = {{child_news_.get(), POLLIN, 0}, {options_.peers->wake_fd(), POLLIN, 0}};
    const timespec moment{0, std::min(nanoseconds, 6000000L)};
    ::ppoll(news, 2, &moment, nullptr);
    signalfd_siginfo taken;
    while (::read(child_news_.get(), &taken, sizeof taken) > 0) {
    }
    return;
  }
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  const timespec patience{0, nanoseconds};
  ::sigtimedwait(&child_signal, nullptr, &patience);
}

// The command's own time limit, or that of the processes that it left behind.
bool Tracer::time_is_up() {
  if (options_.timeout_s > 0 && seconds() > options_.timeout_s) {
    result_.timed_out = !root_ended_;
    result_.left_running = root_ended_ ? tasks_.size() : 0;
    kill_all();
    return true;
  }
  if (!root_ended_) return false;
  const double since = std::chrono::duration<double>(Clock::now() - root_end_).count();
  if (since < 0.2 || (since < options_.linger_s && !nobody_moves())) return false;
  result_.left_running = tasks_.size();
  kill_all();
  return true;
}

void Tracer::kill_all() {
  for (const auto& [id, task] : tasks_) outside_.note_waiting(task);
  for (const auto& [id, task] : tasks_) ::kill(id, SIGKILL);
  while (!tasks_.empty()) {
    int status = 0;
    const int id = ::waitpid(-1, &status, __WALL);
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) break;
    if (WIFSTOPPED(status))
      ::ptrace(PTRACE_CONT, id, nullptr, nullptr);  // exiting
    else
      tasks_.erase(id);
  }
}

// Whether every task is held, sleeps in a call without a timeout, or does not matter. Checked
// twice: a task that was just woken still appears asleep.
bool Tracer::nobody_moves() {
  for (int look = 0; look < 2; look++) {
    for (auto& [id, task] : tasks_) {
      if (task.held || task.resting || task.waiting) continue;
      const char state = task.tracee.state();
      if (state == 'Z' || state == 'X' || state == '\0') continue;
      if (state == 't' || state == 'T') continue;
      if (state == 'D' && task.sleeps()) continue;
      if (state != 'S') return false;
      if (task.tracee.waits_for_time() && controller_.may_bring_news(task)) return false;
    }
    siginfo_t news{};
    if (::waitid(P_ALL, 0, &news, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
        news.si_pid != 0)
      return false;
    if (look == 0) wait_a_moment(200000);
  }
  return true;
}

void Tracer::handle(int id, int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) return reaped(id, status);
  if (!WIFSTOPPED(status)) return;
  TracedTask& task = tasks_[id];  // a new task may stop before its creator does
  if (task.id() == 0) task.tracee = Tracee(id);
  const int event = status >> 16, signal = WSTOPSIG(status);
  switch (event) {
    case PTRACE_EVENT_SECCOMP:
      return at_entry(task);
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
      return at_fork(task);
    case PTRACE_EVENT_EXEC:
      return at_exec(id);
    case PTRACE_EVENT_EXIT:
      return at_end(task);
    case PTRACE_EVENT_STOP:
      return at_stop(task, signal);
    default:
      break;
  }
  if (signal == (SIGTRAP | 0x80)) return at_exit_of_call(task);
  at_signal(task, signal);
}

void Tracer::resume(TracedTask& task, int signal) {
  task.held = false;
  if (!task.in_call && !task.ending && !turns_.has(task)) return turns_.want(task, signal);
  run_on(task, signal);
}

void Tracer::pass_turns() {
  for (const Turns::Free& turn : turns_.free()) {
    TracedTask* const next = find(controller_.choose_turn(*this, turn));
    if (next == nullptr) continue;
    turns_.take(*next);
    run_on(*next, next->turn_signal);
  }
}

// Only between stops.
void Tracer::interrupt_spinning() {
  for (const int id : turns_.too_long(tasks_)) {
    TracedTask& task = tasks_[id];
    task.interrupted = ::ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr) == 0;
    result_.interrupted++;
    controller_.interrupted(task);
  }
}

bool Tracer::wake(TracedTask& task) {
  if (!task.woken) task.woken = ::ptrace(PTRACE_INTERRUPT, task.id(), nullptr, nullptr) == 0;
  return task.woken;
}

void Tracer::run_on(TracedTask& task, int signal) {
  if (task.mask && !task.in_call) {
    task.tracee.set_signal_mask(*task.mask);
    task.mask.reset();
  }
  const bool to_exit = task.in_call || !task.changed.empty();
  ::ptrace(to_exit && options_.calls ? PTRACE_SYSCALL : PTRACE_CONT, task.id(), nullptr,
           reinterpret_cast<void*>(static_cast<long>(signal)));
}

void Tracer::at_stop(TracedTask& task, int signal) {
  if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
    ::ptrace(PTRACE_LISTEN, task.id(), nullptr, nullptr);  // stopped by job control: until SIGCONT
    return;
  }
  if (!task.known) {
    task.waiting = true;
    return;
  }
  if (std::exchange(task.interrupted, false)) turns_.give_up(task);
  if (std::exchange(task.woken, false)) task.tracee.end_sleep();
  resume(task);
}

}  // namespace deadheat::process::sources
