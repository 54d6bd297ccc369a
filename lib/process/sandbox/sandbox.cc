#include "lib/process/sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "lib/base/file.h"
#include "lib/base/temporary_folder.h"
#include "lib/base/text.h"
#include "lib/process/sandbox/command_namespaces.h"
#include "lib/process/sandbox/fork_into.h"
#include "lib/process/sandbox/given_files.h"
#include "lib/process/sandbox/identity.h"
#include "lib/process/sandbox/limits.h"
#include "lib/process/sandbox/sandbox_init.h"

namespace deadheat::process::sandbox {

namespace {

// For the sandbox's first process; the others begin with it or, for root, with the command.
constexpr uint64_t kOuterNamespaces = CLONE_NEWNS | CLONE_NEWPID;

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

std::string read_from_start(int fd) {
  ::lseek(fd, 0, SEEK_SET);
  return read_to_end(fd);
}

// tmpfs supports `user.` attributes, which an overlay without root needs, since Linux 6.6.
bool tmpfs_is_enough(bool user_namespace) {
  utsname name = {};
  int major = 0, minor = 0;
  if (!user_namespace || ::uname(&name) != 0) return true;
  if (std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return true;
  return major > 6 || (major == 6 && minor >= 6);
}

}  // namespace

struct Sandbox::State {
  SandboxOptions options;
  bool user_namespace = false;
  std::string scratch_above;  // empty: a tmpfs is used
  TemporaryFolder scratch;
  ResourceLimits limit;
  GivenFiles given;
  std::optional<CommandNamespaces> of_command;
  InitReport* report = nullptr;
  ScopedFd alive, bytes, handle;
  int pid = -1;
  bool namespaces = true;
  std::vector<std::string> problems;

  ~State();
  Status prepare();
  Status start_once(const Body& body, uint64_t flags);
  Status read_answer(const std::string& answer);
  uint64_t choose_namespaces();
  void let_go();
  void send(int signal) const {
    ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  }
  siginfo_t reap();
};

Sandbox::State::~State() {
  if (pid > 0) {
    send(SIGKILL);
    reap();
  }
  given.restore();
  if (report != nullptr) ::munmap(report, sizeof *report);
}

// Closes the tool's end of the pipes and the handle.
void Sandbox::State::let_go() {
  for (ScopedFd* fd : {&alive, &bytes, &handle}) *fd = ScopedFd();
  of_command.reset();
  pid = -1;
}

siginfo_t Sandbox::State::reap() {
  siginfo_t info = {};
  while (::waitid(P_PIDFD, static_cast<id_t>(handle.get()), &info, WEXITED | __WALL) != 0 &&
         errno == EINTR) {
  }
  pid = -1;
  return info;
}

Status Sandbox::State::prepare() {
  user_namespace = !may_mount();
  if (!options.keep_upper.empty() && ::mkdir(options.keep_upper.c_str(), 0755) != 0 &&
      errno != EEXIST)
    return errno_error("cannot make", options.keep_upper, errno);
  if (options.in_place) return Ok{};
  const std::string obstacle = user_namespace ? user_namespace_obstacle() : "";
  if (obstacle.find("is 0") != std::string::npos) return namespaces_error(EPERM, true);
  const auto types = read_file("/proc/filesystems");
  if (types && types.value().find("\toverlay\n") == std::string::npos)
    problems.push_back("this kernel may have no overlayfs (modprobe overlay)");
  scratch_above = options.scratch;
  if (scratch_above.empty() && !tmpfs_is_enough(user_namespace)) {
    const char* folder = std::getenv("TMPDIR");
    scratch_above = folder == nullptr || *folder == '\0' ? "/tmp" : folder;
  }
  return Ok{};
}

Status Sandbox::State::read_answer(const std::string& answer) {
  if (answer.starts_with('K')) {
    for (const std::string_view line : split(std::string_view(answer).substr(1), '\n'))
      if (!line.empty()) problems.emplace_back(line);
    return Ok{};
  }
  const siginfo_t info = reap();
  if (!answer.starts_with('E'))
    return Error{"the sandbox's first process ended by " + std::to_string(info.si_status), ""};
  const size_t nul = answer.find('\0');
  Error error{answer.substr(1, nul - 1), answer.substr(nul + 1)};
  if (const std::string why = user_namespace ? user_namespace_obstacle() : ""; !why.empty())
    error.hint = why + (error.hint.empty() ? "" : "; ") + error.hint;
  return error;
}

// Root's commands get their own user namespace, since root's own capabilities reach the machine.
// Not with the machine's network: only the machine's root can use ports below 1024 there.
uint64_t Sandbox::State::choose_namespaces() {
  of_command.reset();
  const uint64_t network = options.host_network ? 0 : CLONE_NEWNET;
  const uint64_t all = kOuterNamespaces | CLONE_NEWIPC | CLONE_NEWUTS | network;
  if (user_namespace) return all | CLONE_NEWUSER;
  if (options.in_place || options.host_network || options.allow.has(Permission::kMachine))
    return all;
  auto made = make_command_namespaces({true, options.allow.has(Permission::kNamespaces)});
  if (!made) {
    problems.push_back("the command is not in a user namespace: " + made.error().message);
    return all;
  }
  of_command = std::move(*made);
  return kOuterNamespaces;
}

Status Sandbox::State::start_once(const Body& body, uint64_t flags) {
  int alive_ends[2], ready_ends[2];
  if (::pipe2(alive_ends, O_CLOEXEC) != 0) return Error{"no pipe: out of descriptors", ""};
  const ScopedFd alive_in(alive_ends[0]);
  alive = ScopedFd(alive_ends[1]);
  if (::pipe2(ready_ends, O_CLOEXEC) != 0) return Error{"no pipe: out of descriptors", ""};
  const ScopedFd ready(ready_ends[0]);
  ScopedFd ready_out(ready_ends[1]);
  bytes = ScopedFd(::memfd_create("deadheat-result", MFD_CLOEXEC));
  if (!bytes.valid()) return Error{"no memory file: out of descriptors", ""};

  InitRequest request;
  request.options = &options;
  request.limit = &limit;
  request.report = report;
  request.of_command = of_command && flags != 0 ? &*of_command : nullptr;
  request.namespaces = namespaces = flags != 0;
  request.user_namespace = (flags & CLONE_NEWUSER) != 0;
  request.user = ::geteuid();
  request.group = ::getegid();
  request.scratch = scratch.folder();
  request.alive = alive_in.get();
  request.ready = ready_out.get();
  request.bytes = bytes.get();
  int pid_handle = -1;
  const pid_t child = fork_into(flags, pid_handle);
  if (child < 0) return namespaces_error(errno, request.user_namespace);
  if (child == 0) run_init(request, body);
  pid = child;
  handle = ScopedFd(pid_handle);
  ready_out = ScopedFd();
  Status answer = read_answer(read_to_end(ready.get()));
  if (!answer) let_go();
  return answer;
}

Sandbox::Sandbox(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sandbox::Sandbox(Sandbox&&) noexcept = default;
Sandbox& Sandbox::operator=(Sandbox&&) noexcept = default;
Sandbox::~Sandbox() {
  if (state_ != nullptr && state_->pid > 0) {
    kill();
    state_->reap();
  }
  if (state_ != nullptr) state_->let_go();
}

Result<Sandbox> Sandbox::create(const SandboxOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  if (Status prepared = state->prepare(); !prepared) return prepared.error();
  return Sandbox(std::move(state));
}

Status Sandbox::start(Body body) {
  State& state = *state_;
  if (state.pid > 0) return Error{"this sandbox already runs", ""};
  if (state.report == nullptr) {
    void* page = ::mmap(nullptr, sizeof(InitReport), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return Error{"no memory for a sandbox", ""};
    state.report = static_cast<InitReport*>(page);
  }
  new (state.report) InitReport;
  if (!state.options.in_place && !state.scratch_above.empty()) {
    auto scratch = TemporaryFolder::create(state.scratch_above, "deadheat-sandbox-");
    if (!scratch) return scratch.error();
    state.scratch = std::move(*scratch);
  }
  state.limit = ResourceLimits({state.options.most_processes, state.options.most_memory},
                               state.user_namespace);
  state.given = GivenFiles(state.options.descriptors);
  Status started = state.start_once(body, state.choose_namespaces());
  if (started || !state.options.in_place) return started;
  // The real files and no namespaces: this works everywhere.
  state.problems.push_back("its processes are not kept apart: " + started.error().message);
  return state.start_once(body, 0);
}

int Sandbox::done_fd() const { return state_->handle.get(); }
int Sandbox::init_pid() const { return state_->pid; }

void Sandbox::kill() {
  if (state_->pid <= 0) return;
  // Without namespaces init has to end the other processes itself.
  state_->send(state_->namespaces ? SIGKILL : SIGTERM);
}

Result<SandboxResult> Sandbox::finish() {
  State& state = *state_;
  if (state.pid <= 0) return Error{"this sandbox does not run", ""};
  const siginfo_t info = state.reap();
  state.given.restore();
  SandboxResult result;
  result.bytes = read_from_start(state.bytes.get());
  result.timed_out = state.report->timed_out;
  result.too_many_processes = state.report->too_many;
  result.problems = std::move(state.problems);
  if (info.si_code != CLD_EXITED) result.signal = info.si_status;
  const std::string most = std::to_string(state.options.most_processes);
  if (result.too_many_processes)
    result.problems.push_back("more than " + most + " processes: all were ended");
  if (state.limit.processes_reached())
    result.problems.push_back("it wanted more than " + most + " processes; forks failed");
  if (state.limit.memory_reached())
    result.problems.push_back("it wanted more than " + with_thousands(state.limit.memory() >> 20) +
                              " MB of memory; processes of it were ended");
  if (state.report->kept != 0)
    result.problems.push_back("the changed files could not be kept: " +
                              std::string(std::strerror(state.report->kept)));
  const bool complete = state.report->complete;
  state.let_go();
  state.limit = ResourceLimits();
  state.scratch = TemporaryFolder();
  if (!complete && result.signal == 0 && !result.timed_out && !result.too_many_processes)
    return Error{
        "the sandbox's first process ended early (status " + std::to_string(info.si_status) + ")",
        ""};
  return result;
}

}  // namespace deadheat::process::sandbox
