// Reads the changed files from an overlay's upper folder.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <tuple>

#include "lib/base/file.h"
#include "lib/base/mask.h"
#include "lib/base/scoped_fd.h"
#include "lib/base/text.h"
#include "lib/process/judge/outcome.h"

namespace deadheat::process::judge {
namespace {

constexpr size_t kMostText =
    1 << 20;  // bytes of a text file whose lines are kept; larger ones have a digest
constexpr size_t kMostRead = 256 << 20;  // of a file; beyond that only the size counts
constexpr size_t kMostDepth = 200;

std::string attribute(const std::string& path, const char* name) {
  std::array<char, PATH_MAX> value = {};
  for (const char* prefix : {"trusted.overlay.", "user.overlay."}) {
    const ssize_t size =
        ::lgetxattr(path.c_str(), (std::string(prefix) + name).c_str(), value.data(), value.size());
    if (size >= 0) return {value.data(), static_cast<size_t>(size)};
  }
  return "";
}

bool is_text(std::string_view bytes) {
  return bytes.size() <= kMostText && bytes.find('\0') == std::string_view::npos;
}

class Walk {
 public:
  Walk(const RunMask& mask, const std::string& before)
      : mask_(mask), before_(before == "/" ? std::string() : before) {}

  Status folder(const std::string& from, const std::string& path, size_t depth) {
    DIR* entries = ::opendir(from.c_str());
    if (entries == nullptr) return errno_error("cannot read", from, errno);
    Status status = Ok{};
    while (const dirent* entry = ::readdir(entries)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      status = one(from + "/" + name, path + "/" + name, depth);
      if (!status) break;
    }
    ::closedir(entries);
    return status;
  }

  std::vector<ChangedFile> take() {
    std::sort(files_.begin(), files_.end(), [](const ChangedFile& a, const ChangedFile& b) {
      return std::tie(a.name, a.path) < std::tie(b.name, b.path);
    });
    return std::move(files_);
  }

 private:
  Status one(const std::string& from, const std::string& path, size_t depth) {
    struct stat info = {};
    if (::lstat(from.c_str(), &info) != 0) return errno_error("cannot read", from, errno);
    ChangedFile file;
    file.path = path;
    file.name = mask_run_path(path, mask_);
    file.mode = info.st_mode & 07777;
    struct stat old = {};
    file.existed = ::lstat((before_ + path).c_str(), &old) == 0;
    if (S_ISDIR(info.st_mode)) {
      file.kind = FileKind::kFolder;
      file.replaced = attribute(from, "opaque") == "y" || !attribute(from, "redirect").empty();
      // A folder is in the upper tree even if only its contents changed.
      const bool as_before = file.existed && S_ISDIR(old.st_mode) &&
                             (old.st_mode & 07777) == file.mode && !file.replaced;
      if (!as_before) files_.push_back(std::move(file));
      return depth < kMostDepth ? folder(from, path, depth + 1) : Status(Ok{});
    }
    if (S_ISREG(info.st_mode)) {
      read_content(from, info, file);
    } else if (S_ISLNK(info.st_mode)) {
      file.kind = FileKind::kLink;
      std::array<char, PATH_MAX> target = {};
      const ssize_t size = ::readlink(from.c_str(), target.data(), target.size());
      const std::string_view text(target.data(), size < 0 ? 0 : static_cast<size_t>(size));
      file.digest = stable_hash(mask_run_path(text, mask_));
      file.mode = 0;
    } else if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0)) {
      file.kind = FileKind::kGone;
      file.existed = true;
      file.mode = 0;
    } else {
      file.kind = S_ISFIFO(info.st_mode)   ? FileKind::kPipe
                  : S_ISSOCK(info.st_mode) ? FileKind::kSocket
                                           : FileKind::kDevice;
    }
    files_.push_back(std::move(file));
    return Ok{};
  }

  void read_content(const std::string& from, const struct stat& info, ChangedFile& file) const {
    file.size = static_cast<uint64_t>(info.st_size);
    if (file.size > kMostRead) return;
    const auto content = read_file(from);
    if (!content) return;  // its mode forbids reading; the mode is compared
    const std::string& bytes = content.value();
    file.text = is_text(bytes);
    if (file.text) {
      file.lines = masked_lines(bytes, mask_);
      file.last_line_cut = !bytes.empty() && bytes.back() != '\n';
      file.digest = stable_hash(sorted_lines(join(file.lines, "\n")));
    } else {
      file.digest = stable_hash(mask_run_bytes(bytes, mask_));
    }
  }

  const RunMask& mask_;
  std::string before_;
  std::vector<ChangedFile> files_;
};

}  // namespace

Result<std::vector<ChangedFile>> read_changed_files(const std::string& upper, const RunMask& mask,
                                                    const std::string& before) {
  Walk walk(mask, before);
  if (Status done = walk.folder(upper, "", 0); !done) return done.error();
  return walk.take();
}

}  // namespace deadheat::process::judge
