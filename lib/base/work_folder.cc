#include "lib/base/work_folder.h"

#include <cstdlib>

namespace deadheat {

Result<std::unique_ptr<WorkFolder>> WorkFolder::create() {
  const char* base = std::getenv("TMPDIR");
  auto folder =
      TemporaryFolder::create(base == nullptr || base[0] != '/' ? "/tmp" : base, "deadheat-work-");
  if (folder) return std::unique_ptr<WorkFolder>(new WorkFolder(std::move(*folder)));
  Error error = folder.error();
  if (error.hint.empty()) error.hint = "set TMPDIR to a folder that can be written";
  return error;
}

}  // namespace deadheat
