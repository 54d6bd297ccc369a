#include "lib/confirm/children.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "lib/base/environment.h"
#include "lib/base/file.h"
#include "lib/base/find_program.h"

namespace deadheat::confirm {
namespace {

constexpr char kFolderVariable[] = "DEADHEAT_TRIAL_FOLDER";

std::vector<std::string> environment_of(const ChildRequest& request) {
  std::vector<std::string> all = environment_with(request.environment);
  all.push_back(std::string(kFolderVariable) + "=" + request.folder);
  return all;
}

// What the child needs between fork and exec.
struct Start {
  const char *path, *directory;
  char *const *argv, *const *envp;
  int in, out, err, tell;
  pid_t parent;
};

[[noreturn]] void become(const Start& start) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct rlimit no_core{0, 0};  // no core dumps: a campaign provokes crashes
  ::setrlimit(RLIMIT_CORE, &no_core);
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE})
    ::sigaction(signal, &usual, nullptr);
  const bool ready = ::dup2(start.in, 0) >= 0 && ::dup2(start.out, 1) >= 0 &&
                     ::dup2(start.err, 2) >= 0 &&
                     (start.directory[0] == '\0' || ::chdir(start.directory) == 0);
  if (ready && ::getppid() == start.parent) ::execve(start.path, start.argv, start.envp);
  const int error = errno;
  [[maybe_unused]] const ssize_t said = ::write(start.tell, &error, sizeof error);
  ::_exit(127);
}

uint64_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

Result<ScopedFd> open_output(const std::string& path) {
  ScopedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  return fd;
}

}  // namespace

Children::Children() {
  personality_before_ = ::personality(0xffffffff);
  if (personality_before_ < 0) return;
  const auto wanted = static_cast<unsigned long>(personality_before_) | ADDR_NO_RANDOMIZE;
  same_addresses_ = ::personality(wanted) >= 0;  // children inherit it; our own addresses stay as
                                                 // they are
}

Children::~Children() {
  end_all();
  if (same_addresses_) ::personality(static_cast<unsigned long>(personality_before_));
}

Result<uint64_t> Children::start(const ChildRequest& request) {
  std::string path = find_program(request.command.at(0));
  if (path.empty()) return Error{"cannot find " + request.command[0], "is it built, or in PATH?"};
  if (!request.directory.empty() && path[0] != '/') {
    char* here = ::getcwd(nullptr, 0);
    if (here != nullptr) path = std::string(here) + "/" + path;
    std::free(here);  // NOLINT(cppcoreguidelines-no-malloc)
  }
  std::vector<std::string> words = request.command, environment = environment_of(request);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  auto out = open_output(request.keep_output ? request.folder + "/out" : "/dev/null");
  auto err = open_output(request.folder + "/err");
  if (!out) return out.error();
  if (!err) return err.error();
  auto in = open_for_reading(request.input.empty() ? "/dev/null" : request.input);
  if (!in) return in.error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot start", path, errno);
  const ScopedFd told(ends[0]);
  ScopedFd tell(ends[1]);
  const Start how{path.c_str(), request.directory.c_str(),
                  argv.data(),  envp.data(),
                  in->get(),    out->get(),
                  err->get(),   ends[1],
                  ::getpid()};
  Child child;
  child.started = Clock::now();
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("cannot start", path, errno);
  if (pid == 0) become(how);
  ::setpgid(pid, pid);  // in the parent too: the child must have its group before we may have to
                        // kill it
  tell = ScopedFd();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(told.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    return Error{
        "cannot run " + path + ": " + std::strerror(error),
        error == ENOEXEC ? "is it a program? a script needs a first line such as #!/bin/sh" : ""};
  }
  child.number = ++started_;
  child.pid = pid;
  child.handle = ScopedFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  child.folder = request.folder;
  child.timeout_s = request.timeout_s;
  children_.push_back(std::move(child));
  return started_;
}

void Children::check_limits(Child& child) {
  const double seconds = std::chrono::duration<double>(Clock::now() - child.started).count();
  const bool late = child.timeout_s > 0 && seconds >= child.timeout_s;
  const bool loud =
      size_of(child.folder + "/out") > kMostOutput || size_of(child.folder + "/err") > kMostOutput;
  if (!late && !loud) return;
  child.timed_out = child.timed_out || late;
  child.too_much_output = child.too_much_output || loud;
  ::kill(static_cast<pid_t>(-child.pid), SIGKILL);
}

// Children that left the group came to us when their parent died, and their own children will when
// they die. Returns true if there were any.
bool Children::end_some_orphans(const std::string& folder) {
  const std::string mark = std::string(kFolderVariable) + "=" + folder + '\0';
  bool any = false;
  for (const pid_t pid : children_of(::getpid())) {
    const auto is_pid = [pid](const Child& child) { return child.pid == pid; };
    if (std::any_of(children_.begin(), children_.end(), is_pid)) continue;
    const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (!environment || environment.value().find(mark) == std::string::npos) {
      // A zombie has no environment. Inner instances leave it to the outermost one.
      if (adopt_.outermost()) ::waitpid(pid, nullptr, WNOHANG);
      continue;
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    any = true;
  }
  return any;
}

void Children::end_orphans(const std::string& folder) {
  while (end_some_orphans(folder)) {
  }
  if (children_.empty() && adopt_.outermost()) adopt_.end_all();
}

const Children::Child* Children::find(uint64_t child) const {
  const auto found = std::find_if(children_.begin(), children_.end(),
                                  [&](const Child& one) { return one.number == child; });
  return found == children_.end() ? nullptr : &*found;
}

int Children::done_fd(uint64_t child) const {
  const Child* found = find(child);
  return found == nullptr ? -1 : found->handle.get();
}

std::optional<ChildResult> Children::ended(uint64_t number) {
  const Child* found = find(number);
  if (found == nullptr) return std::nullopt;
  Child* child = &children_[static_cast<size_t>(found - children_.data())];
  check_limits(*child);
  int status = 0;
  if (::waitpid(static_cast<pid_t>(child->pid), &status, WNOHANG) != child->pid)
    return std::nullopt;
  ChildResult result;
  result.pid = child->pid;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.timed_out = child->timed_out;
  result.too_much_output = child->too_much_output;
  result.seconds = std::chrono::duration<double>(Clock::now() - child->started).count();
  ::kill(static_cast<pid_t>(-child->pid), SIGKILL);  // the processes it left behind
  const std::string folder = child->folder;
  children_.erase(children_.begin() + (child - children_.data()));
  end_orphans(folder);
  return result;
}

std::optional<ChildResult> Children::wait(uint64_t child, int patience_ms) {
  struct pollfd handle{done_fd(child), POLLIN, 0};
  // Without pidfds in the kernel, poll more often.
  ::poll(&handle, 1, handle.fd < 0 ? std::min(patience_ms, 10) : patience_ms);
  return ended(child);
}

void Children::kill(uint64_t number) {
  if (const Child* child = find(number)) ::kill(static_cast<pid_t>(-child->pid), SIGKILL);
}

void Children::tell_all(int signal) {
  for (const Child& child : children_) ::kill(static_cast<pid_t>(child.pid), signal);
}

void Children::end_all() {
  for (const Child& child : children_) ::kill(static_cast<pid_t>(-child.pid), SIGKILL);
  std::vector<std::string> folders;
  for (const Child& child : children_) {
    ::waitpid(static_cast<pid_t>(child.pid), nullptr, 0);
    folders.push_back(child.folder);
  }
  children_.clear();
  for (const std::string& folder : folders) end_orphans(folder);
}

Result<ChildResult> run_child(const ChildRequest& request) {
  constexpr int kPatienceMs = 1000;
  Children children;
  const auto child = children.start(request);
  if (!child) return child.error();
  std::optional<ChildResult> ended;
  while (!ended) ended = children.wait(child.value(), kPatienceMs);
  return *ended;
}

ProgramExecution::~ProgramExecution() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

ChildExecution::~ChildExecution() {
  children_.kill(child_);
  while (children_.find(child_) != nullptr) (void)children_.wait(child_, 1000);
}

bool ChildExecution::ended() {
  if (!result_) result_ = children_.ended(child_);
  return result_.has_value();
}

}  // namespace deadheat::confirm
