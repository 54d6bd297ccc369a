#include "lib/process/sandbox/command_start.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "lib/process/sandbox/call_filter.h"
#include "lib/process/sandbox/capabilities.h"
#include "lib/process/sandbox/limits.h"

namespace deadheat::process::sandbox {
namespace {

constexpr int kNotFound = 127, kNotExecutable = 126;  // as in shells

[[noreturn]] void give_up(const std::string& what, int number) {
  const std::string text = "deadheat: " + what + ": " + std::strerror(number) + "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(number == ENOENT ? kNotFound : kNotExecutable);
}

void set_streams(const Command& command) {
  int from[3] = {command.standard_in, command.standard_out, command.standard_error};
  for (int& fd : from) {
    if (fd < 0) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fd < 3) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);  // 0 to 2 are replaced next
  }
  for (int i = 0; i < 3; ++i)
    if (from[i] < 0 || ::dup2(from[i], i) < 0) ::_exit(kNotExecutable);
}

void set_limits(const CommandBounds& bounds) {
  // A size of 1 means: no core file, and none for the machine's handler either (0 would still
  // invoke that).
  const rlimit no_core = {1, 1};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // Its output goes to files outside of the sandbox, where one call could take the whole disk.
  if (bounds.most_file_bytes != 0) lower_limit(RLIMIT_FSIZE, bounds.most_file_bytes);
  if (!bounds.ordinary_priority) return;
  constexpr uint64_t kNiceZero = 20;
  lower_limit(RLIMIT_RTPRIO, 0);
  lower_limit(RLIMIT_NICE, kNiceZero);
  const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  const sched_param plain = {};
  if (policy != SCHED_BATCH && policy != SCHED_IDLE) ::sched_setscheduler(0, SCHED_OTHER, &plain);
}

// The order matters: the filter needs the capabilities, and another user has none.
void set_bounds(const CommandBounds& bounds) {
  if (bounds.user_namespace >= 0 && ::setns(bounds.user_namespace, CLONE_NEWUSER) != 0)
    give_up("cannot enter its user namespace", errno);
  if (bounds.own_mounts && ::unshare(CLONE_NEWNS) != 0)
    give_up("cannot make its own mounts", errno);
  if (bounds.filter.empty()) return;
  if (const Status installed = install(bounds.filter); !installed)
    give_up(installed.error().message, errno);
}

void set_identity(const Command& command) {
  if (command.user == ::getuid() && command.group == ::getgid()) return;
  const gid_t group = command.group;
  if (::setgroups(1, &group) != 0 || ::setresgid(group, group, group) != 0 ||
      ::setresuid(command.user, command.user, command.user) != 0)
    give_up("cannot become user " + std::to_string(command.user), errno);
}

// Until its exec, the child is a copy of init with everything that init has open. Other processes
// inside may not inspect it: it is not dumpable, or it is the first one.
[[noreturn]] void become(const Command& command, const CommandBounds& bounds,
                         const std::function<void()>& before_exec) {
  ::setsid();  // a signal to its process group must stay in the group
  set_bounds(bounds);
  set_streams(command);
  ::close_range(3, ~0U, before_exec ? CLOSE_RANGE_CLOEXEC : 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  set_limits(bounds);
  bound_capabilities(bounds.capabilities);
  set_identity(command);
  if (command.same_addresses) ::personality(ADDR_NO_RANDOMIZE);
  ::umask(command.mask);
  if (!command.directory.empty() && ::chdir(command.directory.c_str()) != 0)
    give_up("cannot enter " + command.directory, errno);
  std::vector<char*> words, environment;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& one : command.environment)
    environment.push_back(const_cast<char*>(one.c_str()));
  words.push_back(nullptr);
  environment.push_back(nullptr);
  environ = environment.data();  // its PATH is the one that is searched
  if (before_exec) {
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // otherwise the tracer may not be allowed to trace it
    before_exec();
  }
  drop_capabilities(bounds.capabilities);
  ::execvp(words[0], words.data());
  give_up("cannot execute " + command.words[0], errno);
}

}  // namespace

Result<int> start_command(const Command& command, const CommandBounds& bounds,
                          const std::function<void()>& before_exec) {
  if (command.words.empty()) return Error{"no command was given", "put it after --"};
  const pid_t child = ::fork();
  if (child < 0) return Error{std::string("cannot fork: ") + std::strerror(errno), ""};
  if (child == 0) become(command, bounds, before_exec);
  return static_cast<int>(child);
}

}  // namespace deadheat::process::sandbox
