// Runs a command in a sandbox, for escape_test.py:
//
//   sandbox_run [--no-root] [--in-place] [--host-network] [--allow WHAT] [--timeout S]
//   [--most-processes N] [--most-bytes N] [--most-memory N] -- COMMAND...
//
// Exits with the command's status (128 + number for a signal), 124 when its time was over, 125 when
// it was ended for too many processes, 77 where there can be no sandbox.
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "lib/process/sandbox/own_program.h"
#include "lib/process/sandbox/sandbox.h"

namespace {

using namespace deadheat;
using namespace deadheat::process;

constexpr uid_t kSomebody = 54321;  // an unused user id
constexpr int kUsage = 2, kCannot = 77, kTimeout = 124, kTooMany = 125;

int complain(const Error& error, int status) {
  std::cerr << "sandbox_run: " << error.message << "\n";
  if (!error.hint.empty()) std::cerr << "sandbox_run: " << error.hint << "\n";
  return status;
}

bool parse(int argc, char** argv, sandbox::SandboxOptions& options, sandbox::Command& command) {
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string_view option = argv[at];
    const char* value = at + 1 < argc ? argv[at + 1] : "";
    if (option == "--in-place") {
      options.in_place = true;
      continue;
    }
    if (option == "--host-network") {
      options.host_network = true;
      continue;
    }
    if (option == "--no-root") {
      if (::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(kSomebody, kSomebody, kSomebody) != 0 ||
           ::setresuid(kSomebody, kSomebody, kSomebody) != 0))
        return false;
      continue;
    }
    if (option == "--allow") {
      auto allowed = sandbox::parse_permissions({value});
      if (!allowed) return false;
      options.allow = *allowed;
    } else if (option == "--timeout")
      options.timeout_s = std::atof(value);
    else if (option == "--most-processes")
      options.most_processes = static_cast<uint32_t>(std::atol(value));
    else if (option == "--most-memory")
      options.most_memory = std::strtoull(value, nullptr, 10);
    else if (option == "--most-bytes")
      options.most_bytes = std::strtoull(value, nullptr, 10);
    else
      return false;
    ++at;
  }
  for (++at; at < argc; ++at) command.words.emplace_back(argv[at]);
  return !command.words.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (const Status safe = sandbox::protect_own_program(argv, environ); !safe)
    return complain(safe.error(), kCannot);
  sandbox::SandboxOptions options;
  sandbox::Command command;
  if (!parse(argc, argv, options, command)) {
    std::cerr
        << "usage: sandbox_run [--no-root] [--in-place] [--host-network] [--allow WHAT] "
           "[--timeout S] [--most-processes N] [--most-bytes N] [--most-memory N] -- COMMAND...\n";
    return kUsage;
  }
  char* directory = ::get_current_dir_name();
  command.directory = directory == nullptr ? "/" : directory;
  std::free(directory);
  for (char** one = environ; *one != nullptr; ++one) command.environment.emplace_back(*one);
  command.user = ::geteuid();
  command.group = ::getegid();
  command.standard_in = STDIN_FILENO;
  command.standard_out = STDOUT_FILENO;
  command.standard_error = STDERR_FILENO;
  options.descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  auto sandbox = sandbox::Sandbox::create(options);
  if (!sandbox) return complain(sandbox.error(), kCannot);
  const Status started = sandbox->start([&](sandbox::Inside& inside) {
    auto pid = inside.start(command, {});
    return pid ? std::to_string(inside.wait_for(*pid)) : std::string("-1");
  });
  if (!started) return complain(started.error(), kCannot);
  auto result = sandbox->finish();
  if (!result) return complain(result.error(), 1);
  for (const std::string& problem : result->problems)
    std::cerr << "sandbox_run: " << problem << "\n";
  if (result->timed_out) return kTimeout;
  if (result->too_many_processes) return kTooMany;
  const int status = std::atoi(result->bytes.c_str());
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
