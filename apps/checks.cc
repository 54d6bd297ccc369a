// The rows of `deadheat doctor`. A probe does a small piece of the real work on this machine and
// looks at the answer: a detector that is switched off must not look like a clean bill of health.
#include <unistd.h>

#include <cstdlib>

#include "apps/doctor.h"

namespace deadheat::apps {
namespace {

std::optional<std::string> temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  const std::string folder = named == nullptr || *named == 0 ? "/tmp" : named;
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return std::nullopt;
  return "make " + folder + " a writable folder, or set TMPDIR to one";
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> rows = {
      {"trace", "write files beside each other", temporary_folder},
  };
  return rows;
}

}  // namespace deadheat::apps
