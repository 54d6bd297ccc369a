#include "lib/process/sandbox/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/process/json_bytes.h"

namespace deadheat::process {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool below(const std::string& path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_the_kernels(const std::string& path) {
  return below(path, "/proc") || below(path, "/sys") || below(path, "/dev") || below(path, "/run");
}

// Changed by the package manager only.
bool is_the_systems(const std::string& path) {
  static constexpr std::array<std::string_view, 8> kFolders = {
      "/usr", "/lib", "/lib64", "/lib32", "/libx32", "/bin", "/sbin", "/opt"};
  for (const std::string_view folder : kFolders)
    if (below(path, folder)) return true;
  return false;
}

int64_t time_of(const struct stat& about) {
  return int64_t{about.st_mtim.tv_sec} * 1000000000 + about.st_mtim.tv_nsec;
}

// The folders above a path, with the modes and owners that they have; `made` are those that are
// there already.
bool make_folders(const std::string& path, const std::string& layer, std::set<std::string>& made) {
  const std::string above = path.substr(0, path.rfind('/'));
  if (above.empty() || made.contains(above)) return true;
  if (!make_folders(above, layer, made)) return false;
  struct stat folder;
  const std::string to = layer + above;
  if (::stat(above.c_str(), &folder) != 0) return false;
  if (::mkdir(to.c_str(), 0700) == 0) {
    ::chmod(to.c_str(), folder.st_mode & 07777);
    if (::chown(to.c_str(), folder.st_uid, folder.st_gid) != 0) errno = 0;  // not root: ours
  } else if (errno != EEXIST) {
    return false;
  }
  made.insert(above);
  return true;
}

// With its mode, owner and time.
bool keep_file(const std::string& path, const struct stat& about, const std::string& layer) {
  std::error_code failed;
  const std::string to = layer + path;
  if (!fs::copy_file(path, to, fs::copy_options::overwrite_existing, failed)) return false;
  const timespec times[2] = {about.st_atim, about.st_mtim};
  ::chmod(to.c_str(), about.st_mode & 07777);
  if (::chown(to.c_str(), about.st_uid, about.st_gid) != 0) errno = 0;
  return ::utimensat(AT_FDCWD, to.c_str(), times, 0) == 0;
}

}  // namespace

Status save_checkpoint(const std::string& folder, const std::set<std::string>& opened,
                       const CheckpointOptions& options) {
  const std::string layer = folder + "/checkpoint";
  std::error_code failed;
  fs::create_directories(layer, failed);
  std::set<std::string> made;
  json files = json::array();
  uint64_t bytes = 0;
  for (const std::string& path : opened) {
    struct stat about;
    if (path.empty() || path[0] != '/' || is_the_kernels(path) ||
        ::lstat(path.c_str(), &about) != 0)
      continue;
    if (!S_ISREG(about.st_mode)) continue;
    const auto size = static_cast<uint64_t>(about.st_size);
    bool kept = !is_the_systems(path) && bytes + size <= options.most_bytes;
    if (kept) kept = make_folders(path, layer, made) && keep_file(path, about, layer);
    if (kept) bytes += size;
    files.push_back(
        {{"path", bytes_to_json(path)}, {"size", size}, {"time", time_of(about)}, {"kept", kept}});
  }
  return write_file(folder + "/checkpoint.json",
                    json{{"version", 1}, {"files", files}}.dump(1) + "\n");
}

Result<CheckpointState> compare_checkpoint(const std::string& folder) {
  CheckpointState state;
  std::error_code failed;
  const std::string path = folder + "/checkpoint.json";
  if (!fs::exists(path, failed)) return state;
  auto text = read_file(path);
  if (!text) return text.error();
  const json all = json::parse(*text, nullptr, false);
  const Error damaged{path + " is damaged or of another version", "record the command again"};
  if (!all.is_object() || all.value("version", 0) != 1 || !all.contains("files")) return damaged;
  state.there = true;
  try {
    for (const json& one : all.at("files")) {
      const std::string file = bytes_from_json(one.at("path"));
      struct stat about;
      const bool same = ::lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
                        static_cast<uint64_t>(about.st_size) == one.at("size").get<uint64_t>() &&
                        time_of(about) == one.at("time").get<int64_t>();
      if (same) continue;
      if (one.at("kept").get<bool>())
        state.layer = folder + "/checkpoint";
      else
        state.changed.push_back(file);
    }
  } catch (const std::exception&) {
    return damaged;
  }
  return state;
}

}  // namespace deadheat::process
