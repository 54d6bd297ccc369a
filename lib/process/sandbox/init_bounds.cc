#include "lib/process/sandbox/init_bounds.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/process/sandbox/call_filter.h"
#include "lib/process/sandbox/capabilities.h"
#include "lib/process/sandbox/identity.h"

namespace deadheat::process::sandbox {

// Init is a copy of the tool with all its descriptors: other sandboxes' pipes, which would then not
// close with the tool, and whatever a user of this library has open.
void close_others(const InitRequest& request) {
  std::vector<int> kept = request.options->descriptors;
  kept.insert(kept.end(), {request.alive, request.ready, request.bytes, STDERR_FILENO,
                           request.limit->process_group(), request.limit->memory_group()});
  if (request.of_command != nullptr)
    for (const ScopedFd* one : {&request.of_command->user, &request.of_command->network,
                                &request.of_command->objects, &request.of_command->names})
      kept.push_back(one->get());
  std::sort(kept.begin(), kept.end());
  const auto wanted = [&](int fd) { return std::binary_search(kept.begin(), kept.end(), fd); };
  const ScopedFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (!wanted(fd)) ::dup2(nothing.get(), fd);
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd < static_cast<int>(next)) continue;
    if (static_cast<unsigned>(fd) > next) ::close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  ::close_range(next, ~0U, 0);
}

namespace {

// When memory is short, the command is killed before any other process of the machine.
void be_first_to_go() {
  const ScopedFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t ignored = ::write(file.get(), "800", 3);
}

}  // namespace

Status enter_namespaces(const InitRequest& request) {
  if (request.user_namespace) {
    if (Status done = map_own_identity(request.user, request.group); !done) return done.error();
    leave_counts_to_others();
    // If this fails, the call filter still prevents the command from creating one.
    if (!request.options->allow.has(Permission::kNamespaces)) forbid_user_namespaces();
  }
  be_first_to_go();
  if (request.of_command != nullptr)
    for (const ScopedFd* one :
         {&request.of_command->network, &request.of_command->objects, &request.of_command->names})
      if (one->valid() && ::setns(one->get(), 0) != 0)
        return Error{std::string("cannot enter its namespaces: ") + std::strerror(errno), ""};
  ::unshare(CLONE_NEWCGROUP);  // hides the location of its group on the machine
  return Ok{};
}

CommandBounds bounds_of(const InitRequest& request) {
  const SandboxOptions& options = *request.options;
  const bool own_user_namespace = request.user_namespace || request.of_command != nullptr;
  CommandBounds bounds;
  bounds.capabilities = kept_capabilities(
      {options.allow, options.in_place, own_user_namespace, !options.host_network});
  if (options.allow.has(Permission::kMachine)) return bounds;
  bounds.ordinary_priority = true;
  if (options.in_place) return bounds;
  // A scratch folder lifts the bound of changed files, and these are no different.
  if (options.scratch.empty()) bounds.most_file_bytes = request.limit->memory();
  bounds.filter = compile(options.allow);
  if (request.of_command == nullptr) return bounds;
  bounds.user_namespace = request.of_command->user.get();
  bounds.own_mounts = options.allow.has(Permission::kNamespaces);
  return bounds;
}

}  // namespace deadheat::process::sandbox
