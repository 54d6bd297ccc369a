#include "lib/process/trace/tracer.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/scoped_fd.h"
#include "lib/process/event.h"
#include "lib/process/syscall_table.h"

namespace deadheat::process {
namespace {

constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                          PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
                          PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;

bool starts_tasks(uint32_t number) {
  return number == SYS_clone || number == SYS_clone3 || number == SYS_fork || number == SYS_vfork;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Breaks off a long wait now and then, so that time limits are seen.
class RegularWakeups {
 public:
  RegularWakeups() {
    struct sigaction nothing{};
    nothing.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &nothing, nullptr);
    set(20000);
  }
  RegularWakeups(const RegularWakeups&) = delete;
  RegularWakeups& operator=(const RegularWakeups&) = delete;
  ~RegularWakeups() { set(0); }

 private:
  static void set(long microseconds) {
    const itimerval every{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
};

}  // namespace

// Programs count on registers that a call does not return anything in.
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
  // A vfork's parent sleeps uninterruptibly until its child has executed something.
  return state == 'S' || (state == 'D' && in_call && starts_tasks(call.number()));
}

bool Controller::deliver(TracedTask& /*task*/, const siginfo_t& /*signal*/, bool at_call) {
  return at_call;
}

Tracer::Tracer(Inside& inside, TraceOptions options, Controller& controller)
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

Result<TraceResult> Tracer::run(const Command& command) {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  if (options_.peers != nullptr && options_.peers->wake_fd() >= 0)
    child_news_ = ScopedFd(::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  // The child says that it is ready (it may not be traced before), and is told to go on once it is
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
  if (::read(gate[1], &ready, 1) != 1) {  // it said why on its standard error
    int status = 0;
    ::waitpid(root_, &status, 0);
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 126;
    return result_;
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
  const RegularWakeups regular;
  while (!tasks_.empty()) {
    int status = 0;
    // While nobody is held the loop sleeps in waitpid itself: two calls and a signal less for each
    // stop.
    const bool look_only = someone_stands() || plays_peers();
    const int id = ::waitpid(-1, &status, look_only ? __WALL | WNOHANG : __WALL);
    if (id > 0) {
      handle(id, status);
      release_held();
      pass_turns();
      serve_peers(false);
      last_news_ = Clock::now();
      continue;
    }
    if (id < 0 && errno == ECHILD) break;
    if (serve_peers(false)) continue;
    if (time_is_up()) break;
    interrupt_spinning();
    const bool settled = turns_.settle(tasks_);
    pass_turns();
    if (!someone_stands()) {
      if (plays_peers()) wait_a_moment(20000000);
      continue;
    }
    if (settled && nobody_moves()) {
      if (serve_peers(true)) continue;
      if (controller_.stuck(*this)) {
        release_held();
        pass_turns();
        continue;
      }
      result_.stuck_as = "every task waits for another";
      kill_all();
      break;
    }
    wait_a_moment(settled ? 300000 : 50000);
  }
  result_.peers = outside_.problems();
  return result_;
}

// Waits for something that is ours to give.
bool Tracer::someone_stands() const {
  return turns_.anyone_waits() || std::any_of(tasks_.begin(), tasks_.end(), [](const auto& one) {
           return one.second.held || one.second.resting;
         });
}

// Who waits for an answer that is not due yet gets it if nothing else happens for a moment.
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

// The command's own time, or the time that what it left behind may take.
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
      ::ptrace(PTRACE_CONT, id, nullptr, nullptr);  // on its way out
    else
      tasks_.erase(id);
  }
}

// Every task stands, or sleeps in a call that no clock will end. Looked at twice: who was just
// woken still looks asleep.
bool Tracer::nobody_moves() {
  for (int look = 0; look < 2; look++) {
    for (auto& [id, task] : tasks_) {
      if (task.held || task.resting || task.waiting) continue;
      const char state = task.tracee.state();
      if (state == 'Z' || state == 'X' || state == '\0') continue;
      if (state == 't' || state == 'T') continue;
      if (state == 'D' && task.sleeps()) continue;
      if (state != 'S' || task.tracee.waits_for_time()) return false;
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
  TracedTask& task = tasks_[id];  // new ones may stop before their creator does
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

// Only between stops: the loop has nothing else to do.
void Tracer::interrupt_spinning() {
  for (const int id : turns_.too_long(tasks_)) {
    TracedTask& task = tasks_[id];
    task.interrupted = ::ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr) == 0;
    result_.interrupted++;
    controller_.interrupted(task);
  }
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
  resume(task);
}

void Tracer::at_entry(TracedTask& task) {
  const auto call = task.tracee.call();
  if (!call) return;
  if (!is_recorded(call->number)) {
    const WallClock* const clock = controller_.clock();
    if (clock != nullptr) move_deadline(task, *call, *clock);
    if (task.memory == 0 || !is_thread_call(call->number)) return resume(task);
  }
  task.in_call = true;
  task.after_call = call->instruction;
  task.call.enter(task.tracee, *call, task.process, number_);
  const SyscallEntry& entry = syscall_entry(call->number);
  if (entry.effect == Effect::kUnmodelled) result_.unmodelled[syscall_name(call->number)]++;
  if (starts_tasks(call->number) && tasks_.size() >= options_.most_tasks) task.fed = {-EAGAIN, ""};
  if (const auto error = task.fed ? std::nullopt : outside_.entering(task)) task.fed = {*error, ""};
  if (const auto answer = controller_.answer(task); answer && !task.fed) task.fed = answer;
  task.held = true;
  if (controller_.may_go(task)) return go(task);
  if (!controller_.held_keeps_turn()) turns_.give_up(task);
}

// Lets a held task make its call, or end.
void Tracer::go(TracedTask& task) {
  controller_.going(*this, task);
  if (task.ending) {
    emit_end(task, static_cast<int>(task.last_result));
    return resume(task);
  }
  if (task.postpone) {
    task.postpone = false;
    task.postponed = task.tracee.skip_call();
  } else {
    task.call.edit().begin = ++number_;
    if (task.fed) task.tracee.skip_call();
    emit_sent(task);
  }
  send_deferred(task);
  resume(task);
}

void Tracer::send_deferred(TracedTask& task) {
  std::deque<siginfo_t> kept;
  for (const siginfo_t& signal : task.deferred) {
    if (!controller_.send_again(task, signal.si_signo)) {
      kept.push_back(signal);
      continue;
    }
    task.sent_again.push_back(signal);
    ::syscall(SYS_tgkill, task.process, task.id(), signal.si_signo);
  }
  task.deferred = std::move(kept);
}

void Tracer::release_held() {
  bool again = true;
  while (again) {
    again = false;
    for (auto& [id, task] : tasks_) {
      if (task.resting && controller_.may_run_on(task)) {
        task.resting = false;
        send_deferred(task);
        resume(task);
      } else if (task.held && controller_.may_go(task)) {
        go(task);
        again = true;
      }
    }
  }
}

void Tracer::at_exit_of_call(TracedTask& task) {
  task.restore_arguments();
  if (!task.in_call) return resume(task);
  if (task.postponed) {
    task.postponed = task.in_call = false;
    task.tracee.make_call_again(task.call.number());
    return resume(task);
  }
  int64_t result = task.tracee.result().value_or(0);
  if (task.fed) {
    result = task.fed->first;
    const uint32_t capture = syscall_entry(task.call.number()).capture;
    const bool first = (capture & (kData0 | kClock0)) != 0 || task.call.number() == SYS_time;
    const bool second = (capture & kClock1) != 0 || task.call.number() == SYS_read;
    const int argument = first ? 0 : second ? 1 : -1;
    if (argument >= 0 && task.call.argument(argument) != 0)
      task.tracee.write({task.call.argument(argument)}, task.fed->second);
    task.tracee.set_result(result);
    // The kernel makes an interrupted call again, if it knows which.
    if (was_interrupted(result)) task.tracee.set_number(task.call.number());
    task.fed.reset();
  }
  if (controller_.change_result(task, result)) task.tracee.set_result(result);
  task.in_call = false;
  task.last_result = result;
  if (const WallClock* clock = controller_.clock(); clock && result == 0)
    show_file_times(task.tracee, task.call.number(), task.call.head().arguments, *clock);
  task.call.leave(task.tracee, result, ++number_);
  const Effect effect = syscall_entry(task.call.number()).effect;
  if (reads_randomness_ && task.call.number() == SYS_read && result > 0 &&
      task.tracee.is_random_device(static_cast<int>(task.call.argument(0))))
    task.call.attach_read(task.tracee);
  outside_.leaving(task, result);
  const bool told = result >= 0 && (effect == Effect::kFork || effect == Effect::kExec ||
                                    effect == Effect::kExecAt);
  if (!told) emit(task.call.event());
  const bool opens =
      effect == Effect::kOpen || effect == Effect::kOpenAt || effect == Effect::kOpenAt2;
  if (opens && result >= 0) {
    note_file(task, "fd/" + std::to_string(result));
    reads_randomness_ |= task.tracee.is_random_device(static_cast<int>(result));
  }
  controller_.left(task);
  if (task.call.number() == SYS_mmap && result > 0) note_mapping(task);
  if (!turns_.may_keep(task) || !controller_.keeps_turn()) turns_.give_up(task);
  task.resting = !controller_.may_run_on(task);
  if (task.resting) return turns_.give_up(task);
  send_deferred(task);
  resume(task);
}

void Tracer::note_mapping(TracedTask& task) {
  const uint64_t flags = task.call.argument(3);
  if ((flags & MAP_TYPE) == MAP_PRIVATE) return;
  const bool anonymous = flags & MAP_ANONYMOUS;
  const auto object =
      anonymous ? std::nullopt : task.tracee.object(static_cast<int>(task.call.argument(4)));
  if (!anonymous && !object) return;
  turns_.map(task, object ? object->device : 0, object ? object->inode : 0,
             task.call.argument(2) & PROT_WRITE, tasks_);
}

void Tracer::at_fork(TracedTask& parent) {
  const int id = static_cast<int>(parent.tracee.message());
  TracedTask& child = tasks_[id];
  child.tracee = Tracee(id);
  uint64_t flags = 0;
  switch (parent.call.number()) {
    case SYS_clone:
      flags = parent.call.argument(0);
      break;
    case SYS_clone3:
      flags = parent.tracee.read_as<uint64_t>({parent.call.argument(0)}).value_or(0);
      break;
    case SYS_vfork:
      flags = CLONE_VM | CLONE_VFORK;
      break;
    default:
      break;
  }
  const bool thread = flags & CLONE_THREAD;
  child.process = thread ? parent.process : id;
  child.path = parent.path + "." + std::to_string(parent.children++);
  child.command = parent.command;
  child.mask = parent.mask;
  child.known = true;
  if (!thread) result_.processes.push_back(id);
  const bool same_memory = (flags & CLONE_VM) && !(flags & CLONE_VFORK);
  if (options_.calls && (same_memory || (parent.maps_shared && !(flags & CLONE_VFORK))))
    turns_.share(parent, child);
  if (options_.calls) {
    PendingCall fork = parent.call;
    deadheat_process_event& head = fork.edit();
    head.kind = DEADHEAT_PROCESS_FORK;
    head.end = ++number_;
    head.result = id;
    head.arguments[0] = (flags & CLONE_VM ? DEADHEAT_SHARE_MEMORY : 0) |
                        (flags & CLONE_FILES ? DEADHEAT_SHARE_FILES : 0) |
                        (flags & CLONE_FS ? DEADHEAT_SHARE_FOLDER : 0) |
                        (flags & CLONE_SIGHAND ? DEADHEAT_SHARE_SIGNALS : 0) |
                        (thread ? DEADHEAT_SHARE_PROCESS : 0) |
                        (flags & CLONE_VFORK ? DEADHEAT_SHARE_VFORK : 0);
    head.arguments[1] = static_cast<uint64_t>(child.process);
    fork.attach(DEADHEAT_ATTACH_CLONE, 0, {reinterpret_cast<const char*>(&flags), sizeof flags});
    emit(fork.event());
  }
  controller_.forked(parent, child);
  send_deferred(parent);
  if (child.waiting) {
    child.waiting = false;
    resume(child);
  }
  resume(parent);
}

void Tracer::at_exec(int id) {
  const int before = static_cast<int>(tasks_[id].tracee.message());
  if (before != id) {  // a thread that was not the leader took its place
    auto node = tasks_.extract(before);
    if (!node.empty()) {
      turns_.leave(node.mapped());
      turns_.leave(tasks_[id]);
      tasks_.erase(id);
      node.key() = id;
      node.mapped().tracee = Tracee(id);
      tasks_.insert(std::move(node));
    }
  }
  TracedTask& task = tasks_[id];
  task.executed = true;
  turns_.leave(task);
  task.maps_shared = false;
  note_file(task, "exe");
  const std::string words = task.tracee.command_line();
  task.command = split_words(words);
  if (options_.calls) {
    task.tracee.make_repeatable();
    PendingCall exec = task.call;
    deadheat_process_event& head = exec.edit();
    head.kind = DEADHEAT_PROCESS_EXEC;
    head.task = id;
    head.end = ++number_;
    head.arguments[0] = static_cast<uint64_t>(before);
    exec.attach(DEADHEAT_ATTACH_ARGUMENTS, 1, words);
    emit(exec.event());
  }
  resume(task);
}

void Tracer::at_end(TracedTask& task) {
  if (task.in_call && options_.calls) {
    task.call.abandon(++number_);
    emit(task.call.event());
    task.in_call = false;
    controller_.left(task);
  }
  task.ending = true;
  turns_.give_up(task);
  task.last_result = static_cast<int64_t>(task.tracee.message());
  task.held = true;
  if (controller_.may_go(task)) go(task);
}

void Tracer::emit_end(TracedTask& task, int status) {
  if (!options_.calls) return;
  const bool last = std::none_of(tasks_.begin(), tasks_.end(), [&](const auto& one) {
    return one.first != task.id() && one.second.process == task.process && !one.second.ending;
  });
  deadheat_process_event head{};
  head.kind = DEADHEAT_PROCESS_EXIT;
  head.task = task.id();
  head.process = task.process;
  head.begin = ++number_;
  head.end = head.begin;
  head.time_ns = task.call.head().time_ns;
  head.result = status;
  head.arguments[0] = last ? 1 : 0;
  emit(EventBuilder(head).take());
}

void Tracer::reaped(int id, int status) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  TracedTask& task = found->second;
  if (!task.ending && options_.calls) {  // killed without a stop
    if (task.in_call) {
      task.call.abandon(++number_);
      emit(task.call.event());
    }
    emit_end(task, status);
  }
  ++number_;
  turns_.leave(task);
  controller_.ended(task);
  if (status != 0 && task.process == id && task.executed)
    result_.failed.push_back({task.command, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                              WIFSIGNALED(status) ? WTERMSIG(status) : 0});
  if (id == root_) {
    root_ended_ = true;
    root_end_ = Clock::now();
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    result_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  tasks_.erase(found);
}

}  // namespace deadheat::process
