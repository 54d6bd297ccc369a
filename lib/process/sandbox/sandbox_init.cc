#include "lib/process/sandbox/sandbox_init.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/process/sandbox/command_start.h"
#include "lib/process/sandbox/descendants.h"
#include "lib/process/sandbox/init_bounds.h"
#include "lib/process/sandbox/sandbox_root.h"
#include "lib/process/sandbox/tree_copy.h"

namespace deadheat::process::sandbox {
namespace {

constexpr int64_t kWatchNs = 20'000'000;  // between checks, if only a watch limits the processes
constexpr int64_t kSecondNs = 1'000'000'000;

int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

// Read by the alarm's handler; set before the alarm can arrive.
struct Watch {
  InitReport* report = nullptr;
  pid_t self = 0;
  bool namespaces = true;
  int64_t deadline_ns = 0;      // 0: none
  uint32_t most_processes = 0;  // 0: limited by other means
} watch;

[[noreturn]] void end_now() {
  if (!watch.namespaces) end_descendants();
  ::_exit(1);  // the kernel ends the other processes of the namespace
}

// A process inside may send the same signals: only the clock and the count decide.
void on_alarm(int) {
  const int before = errno;
  if (::getpid() != watch.self) return;  // a child before its exec
  if (watch.deadline_ns != 0 && now_ns() >= watch.deadline_ns) {
    watch.report->timed_out = true;
    end_now();
  }
  if (watch.most_processes != 0 && count_processes() > watch.most_processes) {
    watch.report->too_many = true;
    end_now();
  }
  errno = before;
}

// Only without namespaces, where the kernel does not end the descendants.
void on_end(int) {
  if (::getpid() == watch.self) end_now();
}

void set_alarm(const InitRequest& request, bool limited) {
  watch = {request.report, ::getpid(), request.namespaces, 0, 0};
  const double timeout_s = request.options->timeout_s;
  if (timeout_s > 0) watch.deadline_ns = now_ns() + std::llround(timeout_s * kSecondNs);
  // Without namespaces /proc shows all processes of the machine, so counting is meaningless.
  if (!limited && request.namespaces) watch.most_processes = request.options->most_processes;
  if (!request.namespaces) {
    struct sigaction end = {};
    end.sa_handler = on_end;
    ::sigaction(SIGTERM, &end, nullptr);
  }
  if (watch.deadline_ns == 0 && watch.most_processes == 0) return;
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  timer_t timer = nullptr;
  if (::timer_create(CLOCK_MONOTONIC, nullptr, &timer) != 0) return;
  itimerspec when = {};
  const int64_t first = watch.most_processes != 0 ? now_ns() + kWatchNs : watch.deadline_ns;
  when.it_value = {first / kSecondNs, first % kSecondNs};
  // Repeats: a first alarm may come between fork and exec of a process that blocks it.
  when.it_interval = {0, kWatchNs};
  ::timer_settime(timer, TIMER_ABSTIME, &when, nullptr);
}

class InsideSandbox : public Inside {
 public:
  InsideSandbox(SandboxRoot root, CommandBounds bounds, bool namespaces)
      : root_(std::move(root)), bounds_(std::move(bounds)), namespaces_(namespaces) {}

  Result<int> start(const Command& command, const std::function<void()>& before_exec) override {
    return start_command(command, bounds_, before_exec);
  }
  bool set_next_pid(int pid) override {
    const std::string text = std::to_string(pid - 1);
    return root_.last_pid.valid() &&
           ::pwrite(root_.last_pid.get(), text.data(), text.size(), 0) > 0;
  }
  int wait_for(int pid) override {
    int status = 0;
    for (;;) {
      const pid_t ended = ::waitpid(-1, &status, __WALL);
      if (ended == pid) return status;
      if (ended < 0 && errno != EINTR) return -1;
    }
  }
  void end_all() override {
    if (!namespaces_) return end_descendants();
    ::kill(-1, SIGKILL);
    while (::waitpid(-1, nullptr, __WALL) > 0 || errno == EINTR) {
    }
  }
  const std::vector<UpperFolder>& uppers() const override { return root_.uppers; }

 private:
  SandboxRoot root_;
  CommandBounds bounds_;
  bool namespaces_;
};

void bring_loopback_up() {
  const ScopedFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  ::ioctl(socket.get(), SIOCSIFFLAGS, &request);
}

void forget_the_tool(const InitRequest& request) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd alive = {request.alive, 0, 0};
  if (::poll(&alive, 1, 0) > 0) ::_exit(1);  // it died before that
  ::setsid();  // Ctrl-C is for the tool; a signal to our process group must not reach it
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<SandboxRoot> prepare(const InitRequest& request, CommandBounds& bounds) {
  const SandboxOptions& options = *request.options;
  if (options.processor >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(options.processor), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
      return Error{"cannot run on processor " + std::to_string(options.processor) + ": " +
                       std::strerror(errno),
                   "the machine, or this container, does not have it"};
  }
  if (!request.namespaces) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    bounds = bounds_of(request);
    return SandboxRoot{};
  }
  if (Status entered = enter_namespaces(request); !entered) return entered.error();
  bounds = bounds_of(request);
  ::sethostname(options.host_name.data(), options.host_name.size());
  if (!options.host_network) bring_loopback_up();
  if (options.in_place) return enter_own_proc();
  return enter_new_root({request.user_namespace, !options.host_network,
                         options.allow.has(Permission::kSetuid), request.scratch, options.layers,
                         options.most_bytes});
}

void make_parents(int base, const std::string& point) {
  for (size_t at = point.find('/', 1); at != std::string::npos; at = point.find('/', at + 1))
    ::mkdirat(base, point.substr(1, at - 1).c_str(), 0755);
  ::mkdirat(base, point.substr(1).c_str(), 0755);
}

// Combines all upper folders into one tree, which can be a layer of another sandbox.
bool keep(const std::vector<UpperFolder>& uppers, int folder) {
  for (const UpperFolder& upper : uppers) {
    ScopedFd to(::dup(folder));
    if (upper.point != "/") {
      DIR* any = ::fdopendir(::openat(upper.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      size_t entries = 0;
      while (any != nullptr && entries < 3 && ::readdir(any) != nullptr) ++entries;
      if (any != nullptr) ::closedir(any);
      if (entries < 3) continue;  // nothing but "." and ".."
      make_parents(folder, upper.point);
      to = ScopedFd(
          ::openat(folder, upper.point.substr(1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    if (!to.valid() || !copy_tree(upper.folder.get(), to.get(), upper.point)) return false;
  }
  return true;
}

void tell(int ready, const std::string& text) {
  (void)write_all(ready, text, "the tool");
  ::close(ready);
}

}  // namespace

void run_init(const InitRequest& request, const Sandbox::Body& body) {
  forget_the_tool(request);
  close_others(request);
  const SandboxOptions& options = *request.options;
  // Before the old root is left. No process inside can access it: init is not dumpable.
  const bool keeps = !options.keep_upper.empty() && !options.in_place;
  const ScopedFd kept(keeps ? ::open(options.keep_upper.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                            : -1);
  const bool limited = request.limit->apply();
  CommandBounds bounds;
  auto root = prepare(request, bounds);
  if (!root) {
    tell(request.ready, "E" + root.error().message + '\0' + root.error().hint);
    ::_exit(1);
  }
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  set_alarm(request, limited);
  tell(request.ready, "K" + join(root->problems, "\n"));
  InsideSandbox inside(std::move(*root), std::move(bounds), request.namespaces);
  const std::string bytes = body(inside);
  inside.end_all();
  if (keeps && !keep(inside.uppers(), kept.get())) request.report->kept = errno == 0 ? EIO : errno;
  if (write_all(request.bytes, bytes, "the result")) request.report->complete = true;
  ::_exit(0);
}

}  // namespace deadheat::process::sandbox
