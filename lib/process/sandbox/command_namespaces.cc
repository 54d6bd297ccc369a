#include "lib/process/sandbox/command_namespaces.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "lib/base/file.h"
#include "lib/process/sandbox/fork_into.h"

namespace deadheat::process::sandbox {
namespace {

constexpr char kEveryId[] = "0 0 4294967295\n";

bool write_once(const std::string& path, std::string_view text) {
  const ScopedFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The first process of the namespaces. It ends when the other end of the pipe closes.
[[noreturn]] void hold(int go_on, int ready, bool may_nest) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  leave_counts_to_others();
  const char answer = may_nest || forbid_user_namespaces() ? 'K' : 'E';
  char byte = 0;
  if (::write(ready, &answer, 1) == 1 && ::read(go_on, &byte, 1) < 0) ::_exit(1);
  ::_exit(0);
}

Result<CommandNamespaces> open_namespaces(pid_t holder, bool own_network) {
  const std::string folder = "/proc/" + std::to_string(holder);
  if (!write_once(folder + "/uid_map", kEveryId) || !write_once(folder + "/gid_map", kEveryId))
    return Error{std::string("its ids cannot be mapped: ") + std::strerror(errno), ""};
  CommandNamespaces all;
  const auto open = [&](const char* name, ScopedFd& into) {
    into = ScopedFd(::open((folder + "/ns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    return into.valid();
  };
  if (!open("user", all.user) || !open("ipc", all.objects) || !open("uts", all.names) ||
      (own_network && !open("net", all.network)))
    return Error{std::string("its namespaces cannot be opened: ") + std::strerror(errno), ""};
  return all;
}

}  // namespace

void leave_counts_to_others() {
  for (const auto& [own, of_machine] :
       {std::pair{"max_inotify_instances", "inotify/max_user_instances"},
        {"max_inotify_watches", "inotify/max_user_watches"},
        {"max_fanotify_groups", "fanotify/max_user_groups"},
        {"max_fanotify_marks", "fanotify/max_user_marks"}}) {
    auto text = read_file(std::string("/proc/sys/fs/") + of_machine);
    uint64_t most = 0;
    if (!text) continue;
    std::from_chars(text->data(), text->data() + text->size(), most);
    if (most > 1) write_once(std::string("/proc/sys/user/") + own, std::to_string(most / 2));
  }
}

bool forbid_user_namespaces() { return write_once("/proc/sys/user/max_user_namespaces", "0"); }

Result<CommandNamespaces> make_command_namespaces(const CommandNamespacesRequest& request) {
  int go_ends[2], ready_ends[2];
  if (::pipe2(go_ends, O_CLOEXEC) != 0) return Error{"no pipe: out of descriptors", ""};
  const ScopedFd go_on(go_ends[0]);
  ScopedFd end(go_ends[1]);
  if (::pipe2(ready_ends, O_CLOEXEC) != 0) return Error{"no pipe: out of descriptors", ""};
  const ScopedFd ready(ready_ends[0]);
  ScopedFd ready_out(ready_ends[1]);
  const uint64_t flags = CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS |
                         (request.own_network ? uint64_t{CLONE_NEWNET} : 0);
  int handle = -1;
  const pid_t holder = fork_into(flags, handle);
  if (holder < 0) return Error{std::string("none can be made: ") + std::strerror(errno), ""};
  if (holder == 0) {
    ::close(end.release());
    hold(go_on.get(), ready_out.get(), request.may_nest);
  }
  const ScopedFd reaped(handle);
  ready_out = ScopedFd();
  char answer = 0;
  ssize_t size = 0;
  while ((size = ::read(ready.get(), &answer, 1)) < 0 && errno == EINTR) {
  }
  Result<CommandNamespaces> all =
      size == 1 && answer == 'K'
          ? open_namespaces(holder, request.own_network)
          : Result<CommandNamespaces>(Error{"others inside it cannot be forbidden", ""});
  end = ScopedFd();
  while (::waitpid(holder, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  return all;
}

}  // namespace deadheat::process::sandbox
