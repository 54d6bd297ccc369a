#include "lib/process/sandbox/sandbox_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/base/file.h"
#include "lib/process/sandbox/kernel_folders.h"
#include "lib/process/sandbox/mount_table.h"
#include "lib/process/sandbox/places.h"
#include "lib/process/sandbox/tree_copy.h"

namespace deadheat::process::sandbox {
namespace {

// Everywhere there, never overlaid, and replaced anyway: the new tree is put together on top of it.
constexpr char kBase[] = "/sys";
constexpr char kInPlaceHint[] =
    "--in-place works without an overlay (the command then changes the real files)";

Error mount_error(const std::string& what, int number) {
  return {"cannot " + what + ": " + std::strerror(number), kInPlaceHint};
}

// Escapes a folder in an overlay option: the kernel splits options at ':' and ','.
std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ':' || c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

class Builder {
 public:
  Builder(const RootRequest& request, SandboxRoot& root) : request_(request), root_(root) {}

  Status build() {
    if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return mount_error("separate the mounts", errno);
    sys_ = ScopedFd(::open("/sys", O_PATH | O_CLOEXEC));
    auto table = read_file("/proc/self/mountinfo");
    if (!table) return table.error();
    if (Status made = make_base(); !made) return made;
    auto places =
        choose_places({visible_mounts(parse_mount_table(*table)), layers_, base_ + "/skeleton",
                       request_.user_namespace,
                       request_.user_namespace ? shared_folders() : std::vector<std::string>{}});
    if (!places) return places.error();
    for (const Place& place : *places)
      if (Status done = cover(place); !done) return done;
    if (Status done = mount_kernel_folders(new_root_, base_ + "/shm", request_.own_network,
                                           sys_.get(), root_);
        !done)
      return done;
    return pivot();
  }

 private:
  // Where a user may write although the folder belongs to another: the overlay cannot copy such a
  // folder up, since its owner has no number in the user namespace, so that each needs an overlay
  // of its own. Searching the whole machine for them takes too long: known ones, those above
  // the current folder and those below it get one. Elsewhere creating a file fails with EOVERFLOW.
  static std::vector<std::string> shared_folders() {
    namespace fs = std::filesystem;
    constexpr int kMostLevels = 3;
    constexpr size_t kMostFound = 64, kMostLooked = 500;
    std::vector<std::string> folders = {"/var/tmp", "/run/lock"};
    if (const char* temporary = std::getenv("TMPDIR")) folders.emplace_back(temporary);
    std::error_code failed;
    const fs::path here = fs::current_path(failed);
    if (failed) return folders;
    for (fs::path above = here; above.has_relative_path(); above = above.parent_path())
      folders.push_back(above.string());
    size_t looked = 0;
    const size_t most = folders.size() + kMostFound;
    for (fs::recursive_directory_iterator at(here, failed), end;
         !failed && at != end && looked < kMostLooked && folders.size() < most;
         at.increment(failed), ++looked) {
      if (at.depth() >= kMostLevels) at.disable_recursion_pending();
      struct stat info = {};
      if (at->is_symlink(failed) || ::lstat(at->path().c_str(), &info) != 0 ||
          !S_ISDIR(info.st_mode) || info.st_uid == ::geteuid() ||
          ::faccessat(AT_FDCWD, at->path().c_str(), W_OK, 0) != 0)
        continue;
      folders.push_back(at->path().string());
    }
    return folders;
  }

  Status make_base() {
    std::string options = "mode=755";
    if (request_.most_bytes != 0) options += ",size=" + std::to_string(request_.most_bytes);
    if (::mount("tmpfs", kBase, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
      return mount_error("mount a tmpfs", errno);
    base_ = kBase;
    new_root_ = base_ + "/root";
    changed_ = request_.scratch.empty() ? base_ + "/changed" : request_.scratch;
    for (const std::string& folder :
         {new_root_, changed_, base_ + "/skeleton", base_ + "/layers", base_ + "/shm"})
      if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
        return errno_error("cannot make", folder, errno);
    ::chmod((base_ + "/shm").c_str(), 01777);  // in this tmpfs, so that one limit covers both
    // The kernel refuses a lower folder inside another one, and a recording is somewhere in "/":
    // hence copies.
    for (const std::string& layer : request_.layers) {
      layers_.push_back(base_ + "/layers/" + std::to_string(layers_.size()));
      ::mkdir(layers_.back().c_str(), 0755);
      const ScopedFd from(::open(layer.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      const ScopedFd to(::open(layers_.back().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!from.valid()) return errno_error("cannot open", layer, errno);
      if (Status done = copy_tree(from.get(), to.get(), layer); !done) return done;
    }
    return Ok{};
  }

  Status cover(const Place& place) {
    const std::string at = place.point == "/" ? new_root_ : new_root_ + place.point;
    const int failed = overlay(place, at);
    if (failed == 0) return Ok{};
    if (place.point == "/") {
      if (failed == ENODEV)
        return Error{"this kernel has no overlayfs",
                     std::string("modprobe overlay; or ") + kInPlaceHint};
      return mount_error("lay an overlay over " + place.lowers.back(), failed);
    }
    // File systems that an overlay does not support as lower (vfat, too many stacked overlays) are
    // at least protected.
    const bool bound =
        ::mount(place.lowers.back().c_str(), at.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
    if (!bound || !make_read_only(at))
      root_.problems.push_back(place.point + " is empty inside: " + std::strerror(failed));
    else
      root_.problems.push_back(place.point + " is read-only inside: " + std::strerror(failed));
    return Ok{};
  }

  // Returns 0 or the errno.
  int overlay(const Place& place, const std::string& at) {
    const std::string own = changed_ + "/" + std::to_string(count_++);
    const std::string upper = own + "/upper", work = own + "/work";
    if (::mkdir(own.c_str(), 0700) != 0 || ::mkdir(upper.c_str(), 0700) != 0 ||
        ::mkdir(work.c_str(), 0700) != 0)
      return errno;
    like_the_lower_one(place, upper);
    std::string options = "lowerdir=";
    for (const std::string& lower : place.lowers)
      options += (options.back() == '=' ? "" : ":") + escaped(lower);
    options += ",upperdir=" + escaped(upper) + ",workdir=" + escaped(work) + ",xino=on";
    options += request_.user_namespace ? ",userxattr" : ",redirect_dir=on";
    if (!request_.scratch.empty()) options += ",volatile";  // discarded after a crash anyway
    // A device node made inside must not work, and a program's rights end at the user's.
    const unsigned long flags = MS_NODEV | (request_.setuid ? 0 : MS_NOSUID);
    if (::mount("deadheat", at.c_str(), "overlay", flags, options.c_str()) != 0) return errno;
    root_.uppers.push_back(
        {place.point, ScopedFd(::open(upper.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))});
    return 0;
  }

  // An overlay's top folder has the upper folder's owner and mode. Without root the owner is always
  // the user, so the mode must express what the user may not do.
  void like_the_lower_one(const Place& place, const std::string& upper) const {
    struct stat info = {};
    if (::stat(place.lowers.back().c_str(), &info) != 0) return;
    mode_t mode = info.st_mode & 07777;
    if (request_.user_namespace || ::chown(upper.c_str(), info.st_uid, info.st_gid) != 0) {
      mode &= ~static_cast<mode_t>(S_IRWXU);
      for (const auto& [way, bit] : {std::pair{R_OK, S_IRUSR}, {W_OK, S_IWUSR}, {X_OK, S_IXUSR}})
        if (::faccessat(AT_FDCWD, place.point.c_str(), way, 0) == 0)
          mode |= static_cast<mode_t>(bit);
    }
    ::chmod(upper.c_str(), mode);
  }

  Status pivot() {
    if (::chdir(new_root_.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0)
      return mount_error("change the root", errno);
    // The old tree is now on top of the new one at "."; this detaches it, unless it is still in
    // use.
    if (::umount2(".", MNT_DETACH) != 0) return mount_error("leave the old root", errno);
    if (::chdir("/") != 0) return mount_error("enter the new root", errno);
    return Ok{};
  }

  const RootRequest& request_;
  SandboxRoot& root_;
  std::string base_, new_root_, changed_;
  std::vector<std::string> layers_;
  ScopedFd sys_;
  int count_ = 0;
};

}  // namespace

Result<SandboxRoot> enter_new_root(const RootRequest& request) {
  SandboxRoot root;
  if (Status built = Builder(request, root).build(); !built) return built.error();
  return root;
}

Result<SandboxRoot> enter_own_proc() {
  SandboxRoot root;
  if (::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return mount_error("separate the mounts", errno);
  if (Status done = mount_proc("", root); !done) return done.error();
  return root;
}

}  // namespace deadheat::process::sandbox
