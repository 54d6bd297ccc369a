#include "apps/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace deadheat::apps {

Result<std::unique_ptr<WorkFolder>> WorkFolder::create() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base == nullptr || base[0] != '/' ? "/tmp" : base);
  name += "/deadheat-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return Error{"cannot make a folder in " + name + ": " + std::strerror(errno),
                 "set TMPDIR to a folder that can be written"};
  return std::unique_ptr<WorkFolder>(new WorkFolder(name));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace deadheat::apps
