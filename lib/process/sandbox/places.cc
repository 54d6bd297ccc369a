#include "lib/process/sandbox/places.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"

namespace deadheat::process::sandbox {
namespace {

constexpr off_t kMostCopied =
    1 << 20;  // a file beside a mount point; larger ones are missing inside

bool is_folder(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string joined(const std::string& folder, std::string_view name) {
  return (folder == "/" ? "/" : folder + "/") + std::string(name);
}

// Like the machine's: the topmost folder of an overlay's layers determines mode and owner.
void make_folders(const std::string& base, const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at), made = base + folder;
    struct stat info = {};
    if (::mkdir(made.c_str(), 0755) != 0 || ::stat(folder.c_str(), &info) != 0) continue;
    [[maybe_unused]] const int ignored = ::chown(made.c_str(), info.st_uid, info.st_gid);
    ::chmod(made.c_str(), info.st_mode & 07777);
  }
}

void copy_small_file(const std::string& from, const std::string& to) {
  struct stat info = {};
  if (::lstat(from.c_str(), &info) != 0) return;
  if (S_ISLNK(info.st_mode)) {
    std::array<char, PATH_MAX> target = {};
    if (::readlink(from.c_str(), target.data(), target.size() - 1) < 0) return;
    [[maybe_unused]] const int ignored = ::symlink(target.data(), to.c_str());
    return;
  }
  if (!S_ISREG(info.st_mode) || info.st_size > kMostCopied) return;
  const auto text = read_file(from);
  const ScopedFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, info.st_mode & 07777));
  if (text && out.valid()) (void)write_all(out.get(), text.value(), to);
}

class Chooser {
 public:
  explicit Chooser(const PlacesRequest& request) : request_(request) {}

  std::vector<Place> choose() {
    const std::vector<HostMount> real = real_mounts(request_.mounts);
    if (request_.split) {
      for (const HostMount& mount : request_.mounts) ancestors_of(mount.point);
      split("/");
      for (const std::string& folder : request_.others) of_others(folder);
    } else {
      add("/", {request_.skeleton, "/"});
    }
    for (const HostMount& mount : real) {
      if (mount.point == "/") continue;
      if (is_folder(mount.point)) {
        if (!request_.split) add(mount.point, {mount.point});
      } else {  // a single file, as when containers mount /etc/hosts: replaced by a copy
        make_folders(request_.skeleton, mount.point);
        copy_small_file(mount.point, request_.skeleton + mount.point);
      }
    }
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return a.point < b.point; });
    return std::move(places_);
  }

 private:
  void ancestors_of(const std::string& point) {
    for (size_t at = 0; at != std::string::npos; at = point.find('/', at + 1))
      holders_.push_back(at == 0 ? "/" : point.substr(0, at));
  }
  bool holds_mounts(const std::string& path) const {
    return std::find(holders_.begin(), holders_.end(), path) != holders_.end();
  }

  void add(const std::string& point, std::vector<std::string> lowers) {
    std::vector<std::string> all;
    for (const std::string& layer : request_.layers)
      if (const std::string path = point == "/" ? layer : layer + point; is_folder(path))
        all.push_back(path);
    all.insert(all.end(), lowers.begin(), lowers.end());
    places_.push_back({point, std::move(all)});
  }

  // Only "/" is an overlay over the skeleton; folders in it that contain mounts are part of that
  // overlay.
  void split(const std::string& folder) {
    if (folder == "/") add("/", {request_.skeleton});
    const std::string copy = folder == "/" ? request_.skeleton : request_.skeleton + folder;
    DIR* entries = ::opendir(folder.c_str());
    while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const std::string path = joined(folder, name), made = copy + "/" + std::string(name);
      if (!is_folder(path)) {
        copy_small_file(path, made);
        continue;
      }
      ::mkdir(made.c_str(), 0755);
      if (lies_in(path, "/proc") || lies_in(path, "/sys") || lies_in(path, "/dev")) continue;
      if (holds_mounts(path)) {
        split(path);
      } else {
        add(path, {path});
      }
    }
    if (entries != nullptr) ::closedir(entries);
    const bool writable = ::faccessat(AT_FDCWD, folder.c_str(), W_OK, 0) == 0;
    ::chmod(copy.c_str(), writable ? 0755 : 0555);
  }

  // Unless it is in a place that is no overlay, or already is one.
  void of_others(const std::string& folder) {
    struct stat info = {};
    if (!is_folder(folder) || ::stat(folder.c_str(), &info) != 0 || info.st_uid == ::geteuid() ||
        ::faccessat(AT_FDCWD, folder.c_str(), W_OK, 0) != 0)
      return;
    const auto holds = [&](const Place& place) {
      return place.point != "/" && lies_in(folder, place.point);
    };
    const auto same = [&](const Place& place) { return place.point == folder; };
    if (std::any_of(places_.begin(), places_.end(), holds) &&
        std::none_of(places_.begin(), places_.end(), same))
      add(folder, {folder});
  }

  const PlacesRequest& request_;
  std::vector<std::string> holders_;
  std::vector<Place> places_;
};

}  // namespace

Result<std::vector<Place>> choose_places(const PlacesRequest& request) {
  return Chooser(request).choose();
}

}  // namespace deadheat::process::sandbox
