#include "lib/confirm/checker.h"

#include <sys/stat.h>

#include <cerrno>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::confirm {
namespace {

constexpr size_t kMostSaid = 300;

std::string first_line(const std::string& text) {
  return std::string(trim(split(trim(text), '\n').front()).substr(0, kMostSaid));
}

// The status as a shell reports it.
int status_of(const ChildResult& child) {
  return child.signal != 0 ? 128 + child.signal : child.status;
}

}  // namespace

std::vector<std::string> checker_words(const std::string& checker, const std::string& folder,
                                       int status, const std::string& state) {
  return {"/bin/sh",
          "-c",
          checker + " \"$@\"",
          "checker",
          folder + "/out",
          folder + "/err",
          std::to_string(status),
          state};
}

Result<model::Consequence> checker_consequence(const std::string& checker, int status,
                                               const std::string& out, const std::string& err) {
  if (status == 0) return model::Consequence{};
  constexpr int kNotExecutable = 126, kNotFound = 127;  // the shell's statuses
  if (status == kNotExecutable || status == kNotFound)
    return Error{"the checker " + checker + " cannot be run: " + first_line(err), ""};
  std::string said = first_line(out);
  if (said.empty()) said = first_line(err);
  if (said.empty()) said = "exit status " + std::to_string(status) + " of the checker";
  return model::Consequence{model::ConsequenceKind::kCheckerFailed, said};
}

Result<model::Consequence> run_checker(const std::string& checker, const std::string& folder,
                                       const ChildResult& child, const std::string& state) {
  const std::string own = folder + "/checker";
  if (::mkdir(own.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return errno_error("cannot make", own, errno);
  ChildRequest request;
  request.command = checker_words(checker, folder, status_of(child), state);
  request.folder = own;
  request.timeout_s = kCheckerSeconds;
  const auto ended = run_child(request);
  if (!ended) return ended.error();
  if (ended.value().timed_out)
    return Error{"the checker " + checker + " did not end within a minute", "make it faster"};
  const auto out = read_file(own + "/out"), err = read_file(own + "/err");
  return checker_consequence(checker, status_of(ended.value()), out ? out.value() : "",
                             err ? err.value() : "");
}

}  // namespace deadheat::confirm
