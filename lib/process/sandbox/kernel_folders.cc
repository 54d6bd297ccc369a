#include "lib/process/sandbox/kernel_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "lib/base/file.h"

namespace deadheat::process::sandbox {
namespace {

constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;

// Harmless devices. Disks and similar devices are absent.
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// Settings of the machine that its root may change, which are files.
constexpr const char* kReadOnlyFiles[] = {"sysrq-trigger", "mtrr"};

// Machine-wide secrets: its memory, keys, log and firmware, and interfaces of its drivers.
constexpr const char* kHidden[] = {
    "/proc/kcore",       "/proc/keys",          "/proc/key-users",      "/proc/kmsg",
    "/proc/kpagecount",  "/proc/kpageflags",    "/proc/kpagecgroup",    "/proc/vmallocinfo",
    "/proc/timer_list",  "/proc/timer_stats",   "/proc/sched_debug",    "/proc/latency_stats",
    "/proc/acpi",        "/proc/scsi",          "/proc/driver",         "/sys/firmware",
    "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf",
    "/sys/fs/cgroup",    "/sys/fs/pstore"};

// Covers it with an empty file or folder; true if there is nothing to hide.
bool hide(const std::string& root, const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return true;
  if (S_ISDIR(info.st_mode))
    return ::mount("tmpfs", path.c_str(), "tmpfs", kQuiet | MS_RDONLY, "size=4k,mode=555") == 0;
  return ::mount((root + "/dev/null").c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

// Files that lead to the registers and the memory of devices: some devices change when they are
// read, and the machine's root may read them although /sys is read-only.
std::vector<std::string> device_memory(const std::string& sys) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  std::error_code failed;
  for (const auto& device : fs::directory_iterator(sys + "/bus/pci/devices", failed))
    for (const auto& file : fs::directory_iterator(device.path(), failed)) {
      const std::string name = file.path().filename();
      if (name == "rom" || (name.starts_with("resource") && name != "resource"))
        all.push_back(file.path());
    }
  return all;
}

// Every folder of /proc apart from the processes' holds settings of the machine or none: sys, irq,
// bus, dynamic_debug, what drivers add. The first process is the recorder; the command's user owns
// its files too.
std::vector<std::string> settings_of_machine(const std::string& proc) {
  std::vector<std::string> all(std::begin(kReadOnlyFiles), std::end(kReadOnlyFiles));
  all.emplace_back("1");
  DIR* entries = ::opendir(proc.c_str());
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name[0] != '.' && (name[0] < '0' || name[0] > '9'))
      all.push_back(name);
  }
  if (entries != nullptr) ::closedir(entries);
  return all;
}

Status mount_dev(const std::string& root, const std::string& shared, SandboxRoot& result) {
  const std::string dev = root + "/dev";
  if (::mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k") != 0)
    return errno_error("cannot mount", "/dev", errno);
  for (const char* name : kDevices) {
    const std::string from = std::string("/dev/") + name, to = dev + "/" + name;
    const ScopedFd made(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    // Read-only holds for the node, not for what it leads to: its mode and owner are the machine's.
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        !make_read_only(to, true))
      result.problems.push_back(from + " is missing inside: " + std::strerror(errno));
  }
  for (const auto& [target, name] : {std::pair{"/proc/self/fd", "/fd"},
                                     {"/proc/self/fd/0", "/stdin"},
                                     {"/proc/self/fd/1", "/stdout"},
                                     {"/proc/self/fd/2", "/stderr"},
                                     {"pts/ptmx", "/ptmx"}})
    if (::symlink(target, (dev + name).c_str()) != 0)
      return errno_error("cannot make", dev + name, errno);
  for (const char* name : {"/pts", "/shm", "/mqueue"}) ::mkdir((dev + name).c_str(), 0755);
  if (::mount("devpts", (dev + "/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=620") != 0)
    result.problems.push_back(std::string("no terminals inside: ") + std::strerror(errno));
  if (::mount(shared.c_str(), (dev + "/shm").c_str(), nullptr, MS_BIND, nullptr) != 0)
    result.problems.push_back(std::string("no /dev/shm inside: ") + std::strerror(errno));
  if (::mount("mqueue", (dev + "/mqueue").c_str(), "mqueue", kQuiet, nullptr) != 0)
    ::rmdir((dev + "/mqueue").c_str());  // a kernel without message queues
  return Ok{};
}

Status mount_sys(const std::string& root, bool own_network, int old_sys) {
  const std::string sys = root + "/sys";
  if (own_network && ::mount("sysfs", sys.c_str(), "sysfs", kQuiet | MS_RDONLY, nullptr) == 0)
    return Ok{};
  const std::string from = "/proc/self/fd/" + std::to_string(old_sys);
  if (::mount(from.c_str(), sys.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
      !make_read_only(sys))
    return errno_error("cannot mount", "/sys", errno);
  return Ok{};
}

}  // namespace

bool make_read_only(const std::string& mounted, bool devices) {
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | (devices ? 0 : MOUNT_ATTR_NODEV);
  if (::mount_setattr(AT_FDCWD, mounted.c_str(), AT_RECURSIVE, &attributes, sizeof attributes) == 0)
    return true;
  // Before Linux 5.12: only the topmost mount, with the flags that must be preserved.
  const unsigned long flags =
      MS_BIND | MS_REMOUNT | MS_RDONLY | (devices ? kQuiet & ~MS_NODEV : kQuiet);
  return ::mount(nullptr, mounted.c_str(), nullptr, flags, nullptr) == 0;
}

Status mount_proc(const std::string& root, SandboxRoot& result) {
  const std::string proc = root + "/proc";
  if (::mount("proc", proc.c_str(), "proc", kQuiet, nullptr) != 0)
    return Error{std::string("cannot mount a /proc of its own: ") + std::strerror(errno),
                 "in a container this needs an unmasked /proc (docker run --security-opt "
                 "systempaths=unconfined, or --privileged)"};
  result.last_pid =
      ScopedFd(::open((proc + "/sys/kernel/ns_last_pid").c_str(), O_WRONLY | O_CLOEXEC));
  return Ok{};
}

Status mount_kernel_folders(const std::string& root, const std::string& shared, bool own_network,
                            int old_sys, SandboxRoot& result) {
  if (Status done = mount_proc(root, result); !done) return done;
  if (Status done = mount_dev(root, shared, result); !done) return done;
  if (Status done = mount_sys(root, own_network, old_sys); !done) return done;
  for (const std::string& name : settings_of_machine(root + "/proc")) {
    const std::string path = root + "/proc/" + name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
        !make_read_only(path))
      result.problems.push_back("/proc/" + name + " is the machine's own inside");
  }
  std::vector<std::string> hidden(std::begin(kHidden), std::end(kHidden));
  for (const std::string& path : device_memory(root + "/sys"))
    hidden.push_back(path.substr(root.size()));
  for (const std::string& name : hidden)
    if (!hide(root, root + name)) result.problems.push_back(name + " can be seen inside");
  return Ok{};
}

}  // namespace deadheat::process::sandbox
