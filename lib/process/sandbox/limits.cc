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

namespace deadheat::process::sandbox {
namespace {

constexpr std::string_view kPrefix = "deadheat-";
std::atomic<uint32_t> next_number{0};

// The folder of the caller's own group, if a group can be created there; otherwise empty. Version 1
// of control groups has one tree per controller, version 2 has one for all.
std::string own_group(std::string_view controller) {
  const auto own = read_file("/proc/self/cgroup");
  if (!own) return "";
  std::string any;
  for (const std::string_view line : split(own.value(), '\n')) {
    const std::vector<std::string_view> words = split(line, ':');
    if (words.size() < 3) continue;
    const std::string path(words[2] == "/" ? "" : words[2]);
    if (words[1] == controller) return "/sys/fs/cgroup/" + std::string(controller) + path;
    if (words[1].empty()) any = "/sys/fs/cgroup" + path;
  }
  return any;
}

// Groups of tools that have ended; a group with members cannot be removed and stays.
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

uint64_t half_of_memory() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages <= 0 || size <= 0 ? 0
                                 : static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) / 2;
}

}  // namespace

bool lower_limit(__rlimit_resource what, uint64_t most) {
  rlimit limit = {};
  ::getrlimit(what, &limit);
  if (limit.rlim_max > most) limit.rlim_max = most;  // "no limit" is the largest number
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(what, &limit) == 0;
}

ControlGroup::ControlGroup(std::string_view controller) {
  const std::string parent = own_group(controller);
  if (parent.empty() || ::access(parent.c_str(), W_OK) != 0 ||
      ::access((parent + "/cgroup.procs").c_str(), W_OK) != 0)
    return;
  const uint32_t number = next_number++;
  if (number < 2) remove_stale(parent);  // the first of each controller
  const std::string group = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-" +
                            std::to_string(number);
  if (::mkdir(group.c_str(), 0755) != 0) return;
  folder_ = group;
  members_ = ScopedFd(::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(members_, other.members_);
  return *this;
}

ControlGroup::~ControlGroup() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool ControlGroup::set(const char* file, uint64_t value) const {
  const std::string text = std::to_string(value);
  const ScopedFd limit(::open((folder_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
  return limit.valid() && ::write(limit.get(), text.data(), text.size()) > 0;
}

uint64_t ControlGroup::count(const char* file, std::string_view key) const {
  const auto text = read_file(folder_ + "/" + file);
  if (!text) return 0;
  for (const std::string_view line : split(text.value(), '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    uint64_t value = 0;
    if (words.size() == 2 && words[0] == key) {
      std::from_chars(words[1].data(), words[1].data() + words[1].size(), value);
      return value;
    }
  }
  return 0;
}

bool ControlGroup::enter() const { return valid() && ::write(members_.get(), "0", 1) == 1; }

ResourceLimits::ResourceLimits(const Bounds& bounds, bool user_namespace)
    : bounds_(bounds), user_namespace_(user_namespace) {
  if (bounds_.memory == 0) bounds_.memory = half_of_memory();
  // In version 2 both bounds belong to one group: a process has only one.
  if (bounds_.processes != 0) {
    processes_ = ControlGroup("pids");
    counts_processes_ = processes_.set("pids.max", bounds_.processes);
    counts_memory_ = processes_.set("memory.max", bounds_.memory);
  }
  if (counts_memory_ || bounds_.memory == 0) return;
  memory_ = ControlGroup("memory");
  counts_memory_ = memory_.set("memory.limit_in_bytes", bounds_.memory) ||
                   (bounds_.processes == 0 && memory_.set("memory.max", bounds_.memory));
  if (!counts_memory_) memory_ = ControlGroup();
}

bool ResourceLimits::apply() const {
  const bool in_first = processes_.enter(), in_second = memory_.enter();
  const bool bounded = counts_memory_ && (memory_.valid() ? in_second : in_first);
  if (!bounded && bounds_.memory != 0) lower_limit(RLIMIT_DATA, bounds_.memory);
  if (bounds_.processes == 0 || (in_first && counts_processes_)) return true;
  // Since Linux 5.14 a user namespace has its own count of a user's processes.
  return user_namespace_ && lower_limit(RLIMIT_NPROC, bounds_.processes);
}

bool ResourceLimits::processes_reached() const {
  return counts_processes_ && processes_.count("pids.events", "max") > 0;
}

bool ResourceLimits::memory_reached() const {
  if (!counts_memory_) return false;
  return memory_.valid() ? memory_.count("memory.oom_control", "oom_kill") > 0 ||
                               memory_.count("memory.events", "oom_kill") > 0
                         : processes_.count("memory.events", "oom_kill") > 0;
}

uint32_t count_processes() {
  struct Entry {  // as written by getdents64
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

}  // namespace deadheat::process::sandbox
