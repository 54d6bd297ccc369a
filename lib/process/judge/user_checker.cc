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
#include "lib/base/text.h"

namespace deadheat::process {
namespace {

constexpr size_t kMostSaid = 300;

std::string first_line(const std::string& text) {
  return std::string(trim(split(trim(text), '\n').front()).substr(0, kMostSaid));
}

}  // namespace

model::Consequence checker_consequence(int status, const std::string& out, const std::string& err) {
  if (status == 0) return {};
  std::string said = first_line(out);
  if (said.empty()) said = first_line(err);
  if (said.empty()) said = "exit status " + std::to_string(status) + " of the checker";
  return {model::ConsequenceKind::kCheckerFailed, said};
}

Command beside(const std::vector<std::string>& checker, const Command& command) {
  Command own = command;
  own.words = checker;
  own.standard_in = own.standard_out = own.standard_error = -1;
  return own;
}

Result<model::Consequence> run_checker(const CheckerRequest& request) {
  if (request.checker.empty()) return Error{"no checker was given", ""};
  // The sandbox shows the machine's files: names must hold there too.
  std::error_code error;
  const std::string folder = std::filesystem::absolute(request.folder, error).string();
  SandboxOptions options = request.sandbox;
  options.timeout_s = request.timeout_s;
  options.keep_upper.clear();
  const std::string state = folder + "/upper";
  // With --in-place the machine itself is as the command left it.
  if (!options.in_place && std::filesystem::is_directory(state, error))
    options.layers.insert(options.layers.begin(), state);
  const std::string out = folder + "/checker.out", err = folder + "/checker.err";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const ScopedFd out_file(::open(out.c_str(), flags, 0600)),
      err_file(::open(err.c_str(), flags, 0600));
  if (!out_file.valid() || !err_file.valid()) return errno_error("cannot write in", folder, errno);
  Command command;
  command.words = request.checker;
  for (const std::string& word :
       {folder + "/out", folder + "/err", std::to_string(request.status), state})
    command.words.push_back(word);
  command.directory = request.directory;
  command.environment = request.environment;
  command.user = ::geteuid();
  command.group = ::getegid();
  command.standard_out = out_file.get();
  command.standard_error = err_file.get();
  options.descriptors = {out_file.get(), err_file.get()};
  auto sandbox = Sandbox::create(options);
  if (!sandbox) return sandbox.error();
  Status started = sandbox->start([&](Inside& inside) {
    auto pid = inside.start(command, {});
    return pid ? std::to_string(inside.wait_for(*pid)) : std::string("-1");
  });
  if (!started) return started.error();
  auto result = sandbox->finish();
  if (!result) return result.error();
  const std::string name = "the checker " + request.checker[0];
  if (result->timed_out) return Error{name + " did not end in time", "make it faster"};
  int status = -1;
  std::from_chars(result->bytes.data(), result->bytes.data() + result->bytes.size(), status);
  if (status == -1) return Error{name + " could not be started", ""};
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const auto said = read_file(out), complained = read_file(err);
  const std::string errors = complained ? complained.value() : "";
  if (code == 126 || code == 127) return Error{name + " cannot be run: " + first_line(errors), ""};
  return checker_consequence(code, said ? said.value() : "", errors);
}

}  // namespace deadheat::process
