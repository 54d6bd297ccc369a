#include "lib/process/judge/user_checker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "lib/base/file.h"

namespace deadheat::process::judge {
sandbox::Command beside(const std::vector<std::string>& checker, const sandbox::Command& command) {
  sandbox::Command own = command;
  own.words = checker;
  own.standard_in = own.standard_out = own.standard_error = -1;
  return own;
}

Result<model::Consequence> run_checker(const CheckerRequest& request) {
  // The sandbox shows the machine's files, so names must be valid there too.
  std::error_code error;
  const std::string folder = std::filesystem::absolute(request.folder, error).string();
  sandbox::SandboxOptions options = request.sandbox;
  options.timeout_s = request.timeout_s;
  options.keep_upper.clear();
  const std::string state = folder + "/upper";
  // With --in-place the machine itself has the command's end state.
  if (!options.in_place && std::filesystem::is_directory(state, error))
    options.layers.insert(options.layers.begin(), state);
  const std::string out = folder + "/checker.out", err = folder + "/checker.err";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const ScopedFd out_file(::open(out.c_str(), flags, 0600)),
      err_file(::open(err.c_str(), flags, 0600));
  if (!out_file.valid() || !err_file.valid()) return errno_error("cannot write in", folder, errno);
  sandbox::Command command;
  command.words = confirm::checker_words(request.checker, folder, request.status, state);
  command.directory = request.directory;
  command.environment = request.environment;
  command.user = ::geteuid();
  command.group = ::getegid();
  command.standard_out = out_file.get();
  command.standard_error = err_file.get();
  options.descriptors = {out_file.get(), err_file.get()};
  auto sandbox = sandbox::Sandbox::create(options);
  if (!sandbox) return sandbox.error();
  Status started = sandbox->start([&](sandbox::Inside& inside) {
    auto pid = inside.start(command, {});
    return pid ? std::to_string(inside.wait_for(*pid)) : std::string("-1");
  });
  if (!started) return started.error();
  auto result = sandbox->finish();
  if (!result) return result.error();
  const std::string name = "the checker " + request.checker;
  if (result->timed_out) return Error{name + " did not end in time", "make it faster"};
  int status = -1;
  std::from_chars(result->bytes.data(), result->bytes.data() + result->bytes.size(), status);
  if (status == -1) return Error{name + " could not be started", ""};
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const auto said = read_file(out), complained = read_file(err);
  return confirm::checker_consequence(request.checker, code, said ? said.value() : "",
                                      complained ? complained.value() : "");
}

}  // namespace deadheat::process::judge
