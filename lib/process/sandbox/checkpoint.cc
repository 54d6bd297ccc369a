#include "lib/process/sandbox/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/process/recording/json_bytes.h"

namespace deadheat::process::sandbox {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool below(const std::string& path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_the_kernels(const std::string& path) {
  return below(path, "/proc") || below(path, "/sys") || below(path, "/dev") || below(path, "/run");
}

int64_t time_of(const struct stat& about) {
  return int64_t{about.st_mtim.tv_sec} * 1000000000 + about.st_mtim.tv_nsec;
}

// Copies of files at their paths below a folder.
class Layer {
 public:
  explicit Layer(std::string folder) : folder_(std::move(folder)) {}

  // Copies the folders and links of a path, and returns where it ends; empty: not at a file.
  std::string way_to(const std::string& path) { return follow(path, 0); }

  // Including its mode, owner and time.
  bool keep(const std::string& path, const struct stat& about) {
    std::error_code failed;
    const std::string to = folder_ + path;
    if (fs::copy_file(path, to, fs::copy_options::overwrite_existing, failed))
      return dress(to, about);
    fs::remove(to, failed);  // half a file is worse than none
    return false;
  }

  // Creating files in them changed their times.
  void finish() const {
    for (const auto& [path, about] : folders_) dress(folder_ + path, about);
  }

 private:
  static constexpr int kMostLinks = 40;  // as the kernel

  static bool dress(const std::string& path, const struct stat& about) {
    const timespec times[2] = {about.st_atim, about.st_mtim};
    if (::chown(path.c_str(), about.st_uid, about.st_gid) != 0) errno = 0;  // not root: ours
    ::chmod(path.c_str(), about.st_mode & 07777);
    return ::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0;
  }

  bool keep_folder(const std::string& path, const struct stat& about) {
    const std::string to = folder_ + path;
    if (::mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return false;
    folders_.emplace(path, about);
    return true;
  }

  std::string follow(const std::string& path, int links) {
    std::string here;
    for (size_t at = 0; at < path.size();) {
      const size_t end = std::min(path.find('/', at), path.size());
      const std::string name = path.substr(at, end - at);
      at = end + 1;
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        here.resize(here.empty() ? 0 : here.rfind('/'));
        continue;
      }
      const std::string next = here + "/" + name;
      const bool last = at >= path.size();
      if (is_the_kernels(next)) return "";
      struct stat about;
      if (!folders_.contains(next)) {
        if (::lstat(next.c_str(), &about) != 0) return "";
        if (S_ISLNK(about.st_mode)) {
          if (links == kMostLinks) return "";
          std::error_code failed;
          const std::string target = fs::read_symlink(next, failed).string();
          fs::create_symlink(target, folder_ + next, failed);
          const std::string rest = last ? "" : "/" + path.substr(at);
          return follow((target.starts_with('/') ? target : here + "/" + target) + rest, links + 1);
        }
        if (!S_ISDIR(about.st_mode)) return last && S_ISREG(about.st_mode) ? next : "";
        if (!keep_folder(next, about)) return "";
      }
      here = next;
    }
    return "";
  }

  const std::string folder_;
  std::map<std::string, struct stat> folders_;
};

// Adds the files that exist.
void keep_files(const std::set<std::string>& paths, uint64_t most, Layer& layer,
                std::set<std::string>& done, json& files) {
  for (const std::string& path : paths) {
    struct stat about;
    const std::string file = path.starts_with('/') ? layer.way_to(path) : "";
    if (file.empty() || !done.insert(file).second || ::lstat(file.c_str(), &about) != 0) continue;
    const auto size = static_cast<uint64_t>(about.st_size);
    // No second copy of a set-id file, which would grant its user another's rights.
    const bool harmless = (about.st_mode & (S_ISUID | S_ISGID)) == 0;
    const bool kept = harmless && size <= most && layer.keep(file, about);
    if (kept) most -= size;
    files.push_back({{"path", recording::bytes_to_json(file)},
                     {"size", size},
                     {"time", time_of(about)},
                     {"kept", kept}});
  }
}

}  // namespace

Status save_checkpoint(const std::string& folder, const StartFiles& start,
                       const CheckpointOptions& options) {
  Layer layer(folder + "/checkpoint");
  std::error_code failed;
  ::mkdir((folder + "/checkpoint").c_str(), S_IRWXU);
  std::set<std::string> done;
  json files = json::array();
  keep_files(start.opened, options.most_opened, layer, done, files);
  keep_files(start.looked_at, options.most_looked_at, layer, done, files);
  layer.finish();
  const auto write = [&] {
    return write_file(folder + "/checkpoint.json",
                      json{{"version", 1}, {"files", files}}.dump(1) + "\n", 0600);
  };
  if (write()) return Ok{};
  // On a full disk: the recording alone is better than none.
  fs::remove_all(folder + "/checkpoint", failed);
  for (json& file : files) file["kept"] = false;
  return write();
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
      const std::string file = recording::bytes_from_json(one.at("path"));
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

}  // namespace deadheat::process::sandbox
