#include "lib/live/instrumented.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::live {
namespace {

namespace fs = std::filesystem;
using symbols::ElfImage;

constexpr size_t kMostLibraries = 1000;

bool calls_hooks(const ElfImage& image) {
  for (const std::string& name : image.needed())
    if (name.starts_with("libdeadheat.so")) return true;
  return image.has_dynamic_symbol("__tsan_init");
}

std::vector<std::string> search_folders(const ElfImage& image) {
  std::vector<std::string> folders;
  const char* environment = std::getenv("LD_LIBRARY_PATH");
  for (const std::string_view folder : split(environment == nullptr ? "" : environment, ':'))
    folders.emplace_back(folder);
  const std::string origin = fs::path(image.path()).parent_path().string();
  for (std::string folder : image.run_paths()) {
    for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
      if (const size_t at = folder.find(word); at != std::string::npos)
        folder.replace(at, word.size(), origin);
    folders.push_back(std::move(folder));
  }
  // Distribution libraries are not instrumented; the program's own are found above or here.
  folders.emplace_back("/usr/local/lib");
  return folders;
}

}  // namespace

Instrumented instrumented(const std::string& program) {
  std::error_code ignored;
  const fs::path real = fs::canonical(program, ignored);
  std::vector<std::string> left = {ignored ? program : real.string()};
  std::set<std::string> seen(left.begin(), left.end());
  bool is_elf = false;
  while (!left.empty() && seen.size() < kMostLibraries) {
    const std::string path = std::move(left.back());
    left.pop_back();
    const auto image = ElfImage::open(path);
    if (!image) continue;
    is_elf = true;
    if (calls_hooks(*image.value())) return Instrumented::kYes;
    for (const std::string& name : image.value()->needed())
      for (const std::string& folder : search_folders(*image.value())) {
        const std::string library =
            name.find('/') == std::string::npos ? folder + "/" + name : name;
        if (!fs::exists(library, ignored)) continue;
        if (seen.insert(library).second) left.push_back(library);
        break;
      }
  }
  return is_elf ? Instrumented::kNo : Instrumented::kUnknown;
}

}  // namespace deadheat::live
