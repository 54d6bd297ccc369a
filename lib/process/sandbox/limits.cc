#include "lib/process/sandbox/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::process {
namespace {

constexpr std::string_view kPrefix = "deadheat-";
std::atomic<uint32_t> next_number{0};

// The folder of the caller's own group, where another can be made; empty if there is none. One that
// can limit processes comes first, and on the first version of groups it is the only one.
std::string own_group() {
  const auto own = read_file("/proc/self/cgroup");
  if (!own) return "";
  std::string any;
  for (const std::string_view line : split(own.value(), '\n')) {
    const std::vector<std::string_view> words = split(line, ':');
    if (words.size() < 3) continue;
    const std::string path(words[2] == "/" ? "" : words[2]);
    if (words[1] == "pids") return "/sys/fs/cgroup/pids" + path;
    if (words[1].empty()) any = "/sys/fs/cgroup" + path;
  }
  return any;
}

// Groups of tools that are no more; one that still has members cannot be removed and stays.
void remove_stale(const std::string& parent) {
  DIR* folder = ::opendir(parent.c_str());
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    int owner = 0;
    if (!name.starts_with(kPrefix)) continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), owner);
    if (owner > 0 && ::kill(owner, 0) != 0) ::rmdir((parent + "/" + std::string(name)).c_str());
  }
  if (folder != nullptr) ::closedir(folder);
}

}  // namespace

ProcessLimit::ProcessLimit(uint32_t most, bool user_namespace)
    : most_(most), user_namespace_(user_namespace) {
  if (most == 0) return;
  const std::string parent = own_group();
  if (parent.empty() || ::access(parent.c_str(), W_OK) != 0 ||
      ::access((parent + "/cgroup.procs").c_str(), W_OK) != 0)
    return;
  const uint32_t number = next_number++;
  if (number == 0) remove_stale(parent);
  const std::string group = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-" +
                            std::to_string(number);
  if (::mkdir(group.c_str(), 0755) != 0) return;
  group_ = group;
  const std::string text = std::to_string(most);
  const ScopedFd limit(::open((group + "/pids.max").c_str(), O_WRONLY | O_CLOEXEC));
  counts_ = limit.valid() && ::write(limit.get(), text.data(), text.size()) > 0;
  members_ = ScopedFd(::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

ProcessLimit& ProcessLimit::operator=(ProcessLimit&& other) noexcept {
  most_ = other.most_;
  user_namespace_ = other.user_namespace_;
  counts_ = other.counts_;
  std::swap(group_, other.group_);
  std::swap(members_, other.members_);
  return *this;
}

ProcessLimit::~ProcessLimit() {
  if (!group_.empty()) ::rmdir(group_.c_str());
}

bool ProcessLimit::apply() const {
  if (most_ == 0) return true;
  if (members_.valid() && ::write(members_.get(), "0", 1) == 1 && counts_) return true;
  if (!user_namespace_) return false;
  // Since Linux 5.14 a user namespace has its own count of a user's processes.
  rlimit limit = {};
  ::getrlimit(RLIMIT_NPROC, &limit);
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most_) limit.rlim_max = most_;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

bool ProcessLimit::was_reached() const {
  if (!counts_) return false;
  const auto events = read_file(group_ + "/pids.events");
  return events && events.value().starts_with("max ") && !events.value().starts_with("max 0");
}

uint32_t count_processes() {
  struct Entry {  // as getdents64 writes it
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[1];
  };
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(8) char buffer[8192];
  uint32_t count = 0;
  long size = 0;
  while (folder >= 0 && (size = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      if (entry->name[0] >= '1' && entry->name[0] <= '9') ++count;
      at += entry->size;
    }
  }
  if (folder >= 0) ::close(folder);
  return count;
}

}  // namespace deadheat::process
