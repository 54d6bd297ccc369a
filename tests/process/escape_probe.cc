// A hostile command: tries to get out of the sandbox it runs in, one way after the other, and says
// what stopped each (escape_test.py runs it as root and as another user; docs/threat-model.md has
// the list).
//
//   escape_probe HOST_PID HOST_FOLDER HOST_PORT HOST_ABSTRACT_NAME
//
// One line a try: its name, a tab, and "stopped: why" or "REACHED: what". Exits 1 if one got
// through. Every try is harmless where it does get through: things are opened for writing and not
// written, settings are set to the value that they have.
#include "tests/process/escape_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace escape {
Host host;
}

namespace {

using namespace escape;

std::string own_folder() {
  static const std::string kFolder = [] {
    std::string name = host.folder + "/probe-XXXXXX";
    return ::mkdtemp(name.data()) == nullptr ? host.folder : name;
  }();
  return kFolder;
}

Outcome mounts(const char* type, const std::string& then = "") {
  const std::string at = own_folder() + "/" + type;
  ::mkdir(at.c_str(), 0700);
  if (::mount("x", at.c_str(), type, 0, nullptr) != 0) return stopped(error_name(errno));
  return then.empty() ? reached(std::string(type) + " is mounted")
                      : opens((at + then).c_str(), O_WRONLY);
}

// Makes a device node and opens it: is it the real one?
Outcome device(mode_t kind, unsigned major, unsigned minor) {
  const std::string at =
      own_folder() + "/node" + std::to_string(major) + "." + std::to_string(minor);
  if (::mknod(at.c_str(), kind | 0600, makedev(major, minor)) != 0)
    return stopped(error_name(errno));
  return opens(at.c_str(), O_RDWR);
}

Outcome first_that_opens(const std::vector<const char*>& paths, int flags) {
  std::string why;
  for (const char* path : paths) {
    const Outcome one = opens(path, flags);
    if (one.reached) return one;
    if (why.empty() || one.text.find("ENOENT") == std::string::npos) why = one.text;
  }
  return stopped(why);
}

// Runs it in a namespace made by `flags`: what could be done from there?
Outcome in_namespace(unsigned long flags) {
  return call(::unshare(static_cast<int>(flags)), "a namespace of its own");
}

Outcome clone_three(uint64_t flags) {
  clone_args arguments = {};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  return call(child, "a process in a namespace of its own");
}

Outcome old_clone(unsigned long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) ::_exit(0);
  return call(child, "a process in a namespace of its own");
}

// Out of a chroot by a descriptor, as in every textbook.
Outcome chroot_escape() {
  struct stat before = {}, after = {};
  ::stat("/", &before);
  const int outside = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::chroot(own_folder().c_str()) != 0) return stopped(error_name(errno));
  if (::fchdir(outside) != 0) return stopped(error_name(errno));
  for (int i = 0; i < 100; ++i)
    if (::chdir("..") != 0) break;
  if (::chroot(".") != 0 || ::stat("/", &after) != 0) return stopped(error_name(errno));
  if (before.st_dev == after.st_dev && before.st_ino == after.st_ino)
    return stopped("the way up ends at the sandbox's own root");
  return reached("another root");
}

Outcome links_of_init(const char* name) {
  std::array<char, 4096> target = {};
  return call(::readlink((std::string("/proc/1/") + name).c_str(), target.data(), target.size()),
              std::string("/proc/1/") + name + " leads to " + target.data());
}

Outcome descriptors_of_init() {
  for (int fd = 0; fd < 1024; ++fd) {
    const Outcome one = links_of_init(("fd/" + std::to_string(fd)).c_str());
    if (one.reached) return one;
    if (errno != ENOENT) return one;
  }
  return stopped("no descriptor can be seen");
}

Outcome memory_of_init() {
  char byte = 0;
  iovec here = {&byte, 1}, there = {reinterpret_cast<void*>(0x400000), 1};
  return permitted(::process_vm_readv(1, &here, 1, &there, 1, 0), "the memory of process 1");
}

Outcome descriptor_by_handle() {
  const long handle = ::syscall(SYS_pidfd_open, 1, 0);
  if (handle < 0) return stopped(error_name(errno));
  return permitted(::syscall(SYS_pidfd_getfd, handle, 2, 0), "a descriptor of process 1");
}

Outcome inherited_descriptors() {
  for (int fd = 3; fd < 1024; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) return reached("descriptor " + std::to_string(fd));
  return stopped("none is open");
}

Outcome change_of(const char* path) {
  struct stat info = {};
  if (::stat(path, &info) != 0) return stopped(error_name(errno));
  return call(::chmod(path, info.st_mode & 07777), std::string("mode of ") + path);
}

// As "shocker" does: a file of the machine by its number alone.
Outcome by_handle() {
  std::array<char, sizeof(file_handle) + 128> space = {};
  auto* handle = reinterpret_cast<file_handle*>(space.data());
  handle->handle_bytes = 8;
  handle->handle_type = 1;
  const int inode = 2;
  std::memcpy(handle->f_handle, &inode, sizeof inode);
  const int file = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return permitted(::open_by_handle_at(file, handle, O_RDONLY), "files by their number");
}

Outcome load_bpf() {
  bpf_attr attribute = {};
  attribute.map_type = BPF_MAP_TYPE_ARRAY;
  attribute.key_size = attribute.value_size = 4;
  attribute.max_entries = 1;
  return permitted(::syscall(SYS_bpf, BPF_MAP_CREATE, &attribute, sizeof attribute), "a bpf map");
}

Outcome watch_processor() {
  perf_event_attr attribute = {};
  attribute.size = sizeof attribute;
  attribute.type = PERF_TYPE_SOFTWARE;
  attribute.config = PERF_COUNT_SW_CPU_CLOCK;
  return permitted(::syscall(SYS_perf_event_open, &attribute, -1, 0, -1, 0), "all of a processor");
}

Outcome set_clock() {
  timeval now = {};
  ::gettimeofday(&now, nullptr);
  return permitted(::settimeofday(&now, nullptr), "the machine's clock");
}

Outcome set_clock_anew() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return permitted(::clock_settime(CLOCK_REALTIME, &now), "the machine's clock");
}

Outcome tune_clock() {
  timex now = {};
  ::adjtimex(&now);
  now.modes = ADJ_TICK;
  return permitted(::adjtimex(&now), "the clock's rate");
}

Outcome add_key() {
  return permitted(::syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_USER_KEYRING),
                   "the user's keyring");
}

Outcome real_time() {
  sched_param wanted = {};
  wanted.sched_priority = 1;
  return call(::sched_setscheduler(0, SCHED_FIFO, &wanted), "real-time priority");
}

Outcome core_limit() {
  const rlimit wanted = {RLIM_INFINITY, RLIM_INFINITY};
  return call(::setrlimit(RLIMIT_CORE, &wanted), "core files for the machine's handler");
}

Outcome to_abstract_socket() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, host.name.data(), host.name.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + host.name.size());
  return call(::connect(file, reinterpret_cast<sockaddr*>(&address), size), "the server");
}

Outcome to_named_socket() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (host.folder + "/socket").c_str(), sizeof address.sun_path - 1);
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return call(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address), "the server");
}

Outcome to_port() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(host.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return call(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address), "the server");
}

Outcome family(int number) {
  return call(::socket(number, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0
                  ? 0
                  : ::socket(number, SOCK_STREAM | SOCK_CLOEXEC, 0),
              "a socket of family " + std::to_string(number));
}

Outcome configure_network() {
  const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 12);  // netfilter
  if (file < 0) return stopped(error_name(errno));
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data = {};
  ::syscall(SYS_capget, &header, data.data());
  return (data[0].effective & (1U << CAP_NET_ADMIN)) != 0 ? reached("the netfilter tables")
                                                          : stopped("no CAP_NET_ADMIN");
}

// A program that a user other than root runs as its owner, root.
Outcome gains_by_file(bool capability) {
  const std::string copy = own_folder() + (capability ? "/capable" : "/setuid");
  const std::string command = "cp /bin/sleep " + copy;
  if (std::system(command.c_str()) != 0) return stopped("no copy");
  ::chmod(own_folder().c_str(), 0777);
  ::chmod(host.folder.c_str(), 0777);
  if (capability) {
    vfs_cap_data data = {};
    data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
    data.data[0].permitted = 1U << CAP_SETUID;
    if (::setxattr(copy.c_str(), "security.capability", &data, sizeof data, 0) != 0)
      return stopped(error_name(errno));
    ::chmod(copy.c_str(), 0755);
  } else if (::chmod(copy.c_str(), 04755) != 0) {
    return stopped(error_name(errno));
  }
  struct stat made = {};
  ::stat(copy.c_str(), &made);
  if (!capability && made.st_uid != 0) return stopped("it belongs to the caller");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(126);
    ::execl(copy.c_str(), "sleep", "100", nullptr);
    ::_exit(127);
  }
  // Until it is that program: then look at its rights.
  std::string status;
  for (int i = 0; i < 20'000 && status.find("Name:\t" + copy.substr(copy.rfind('/') + 1)) != 0;
       ++i) {
    status.clear();
    std::array<char, 4096> text = {};
    const int file = ::open(("/proc/" + std::to_string(child) + "/status").c_str(), O_RDONLY);
    const ssize_t size = ::read(file, text.data(), text.size());
    if (size > 0) status.assign(text.data(), static_cast<size_t>(size));
    ::close(file);
    ::usleep(500);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const size_t users = status.find("\nUid:\t"), rights = status.find("\nCapEff:\t");
  if (users == std::string::npos || rights == std::string::npos) return stopped("it did not run");
  const bool gained = capability ? status.compare(rights + 9, 16, "0000000000000000") != 0
                                 : status.compare(users, 12, "\nUid:\t65534\t0") == 0 ||
                                       status.find("\t0\t", users) < status.find("\nGid", users);
  return gained ? reached("rights of the file")
                : stopped("the file's rights are not given (nosuid)");
}

Outcome holds_capability(unsigned number, const char* name) {
  const int held = ::prctl(PR_CAPBSET_READ, number, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data = {};
  ::syscall(SYS_capget, &header, data.data());
  const bool effective = (data[number / 32].effective >> (number % 32) & 1) != 0;
  if (effective || held == 1) return reached(name);
  return stopped("not in the bounding set");
}

// The same call through the doors of other architectures.
Outcome through_32_bit() {
#if defined(__x86_64__)
  long result = 0;
  const long umount2 = 52;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(umount2), "b"(0L), "c"(0L)
               : "memory", "r8", "r9", "r10", "r11");
  errno = static_cast<int>(-result);
  return permitted(result < 0 ? -1 : 0, "umount by int 0x80");
#else
  return stopped("not on this machine");
#endif
}

Outcome through_x32() {
#if defined(__x86_64__)
  return permitted(::syscall(0x40000000 | SYS_umount2, nullptr, 0), "umount by the x32 door");
#else
  return stopped("not on this machine");
#endif
}

Outcome send_signal() {
  errno = 0;
  return call(::kill(host.pid, 0), "a process outside");
}

Outcome cgroup_of_host() {
  const Outcome one = first_that_opens(
      {"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs",
       "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/memory/release_agent"},
      O_WRONLY);
  return one;
}

Outcome spare_from_memory_killer() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  return call(::write(file, "-500", 4), "others are ended first when memory is short");
}

const std::vector<Try>& tries() {
  static const std::vector<Try> kTries = [] {
    std::vector<Try> all = quiet_tries();
    const std::vector<Try> shared = tries_at_what_is_shared();
    all.insert(all.end(), shared.begin(), shared.end());
    const std::vector<Try> loud = {
        // Mounts.
        {"mount devtmpfs", [] { return mounts("devtmpfs"); }},
        {"mount proc, write vm settings", [] { return mounts("proc", "/sys/vm/swappiness"); }},
        {"mount sysfs, write settings", [] { return mounts("sysfs", "/kernel/mm/ksm/run"); }},
        {"mount cgroup", [] { return mounts("cgroup"); }},
        {"mount cgroup2", [] { return mounts("cgroup2"); }},
        {"mount tmpfs", [] { return mounts("tmpfs"); }},
        {"mount debugfs", [] { return mounts("debugfs"); }},
        {"open_tree of the root",
         [] {
           return permitted(::syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE), "its mount");
         }},
        {"fsopen", [] { return permitted(::syscall(SYS_fsopen, "tmpfs", 0), "a file system"); }},
        {"fspick", [] { return permitted(::syscall(SYS_fspick, AT_FDCWD, "/", 0), "the root"); }},
        {"move_mount",
         [] { return permitted(::syscall(SYS_move_mount, -1, "", -1, "", 0), "move_mount"); }},
        {"mount_setattr",
         [] {
           mount_attr wanted = {};
           wanted.attr_clr = MOUNT_ATTR_RDONLY;
           return permitted(
               ::syscall(SYS_mount_setattr, AT_FDCWD, "/proc/sys", 0, &wanted, sizeof wanted),
               "/proc/sys is writable");
         }},
        {"pivot_root",
         [] { return permitted(::syscall(SYS_pivot_root, ".", "."), "another root"); }},
        {"chroot and back", chroot_escape},
        // Namespaces.
        {"unshare a mount namespace", [] { return in_namespace(CLONE_NEWNS); }},
        {"unshare a user namespace", [] { return in_namespace(CLONE_NEWUSER); }},
        {"clone into a user namespace", [] { return old_clone(CLONE_NEWUSER); }},
        {"clone3 into a user namespace", [] { return clone_three(CLONE_NEWUSER); }},
        {"clone3 into a network namespace", [] { return clone_three(CLONE_NEWNET); }},
        {"enter the mount namespace of process 1",
         [] {
           const int file = ::open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
           if (file < 0) return stopped(error_name(errno));
           return call(::setns(file, CLONE_NEWNS), "its mounts");
         }},
        // Process 1 and what it holds; processes outside.
        {"root folder of process 1", [] { return links_of_init("root"); }},
        {"descriptors of process 1", descriptors_of_init},
        {"memory of process 1", memory_of_init},
        {"environment of process 1", [] { return opens("/proc/1/environ", O_RDONLY); }},
        {"trace process 1",
         [] { return call(::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr), "process 1"); }},
        {"take a descriptor of process 1", descriptor_by_handle},
        {"descriptors that were left open", inherited_descriptors},
        {"signal a process outside", send_signal},
        // Devices.
        {"make a disk's node", [] { return device(S_IFBLK, 254, 0); }},
        {"make a memory node", [] { return device(S_IFCHR, 1, 1); }},
        {"open disks",
         [] {
           return first_that_opens({"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0"}, O_RDWR);
         }},
        {"open memory and ports",
         [] { return first_that_opens({"/dev/mem", "/dev/kmem", "/dev/port"}, O_RDWR); }},
        {"write the kernel's log", [] { return opens("/dev/kmsg", O_WRONLY); }},
        {"open kvm, fuse, tun, loop-control",
         [] {
           return first_that_opens({"/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control"},
                                   O_RDWR);
         }},
        {"open consoles",
         [] { return first_that_opens({"/dev/console", "/dev/tty0", "/dev/tty1"}, O_RDWR); }},
        {"change the mode of /dev/null", [] { return change_of("/dev/null"); }},
        {"push input into the terminal",
         [] { return call(::ioctl(0, TIOCSTI, "x"), "the terminal's input"); }},
        // Settings and secrets of the kernel.
        {"core_pattern", [] { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }},
        {"vm settings", [] { return opens("/proc/sys/vm/swappiness", O_WRONLY); }},
        {"sysrq-trigger", [] { return opens("/proc/sysrq-trigger", O_WRONLY); }},
        {"kcore",
         [] {
           char byte = 0;
           const int file = ::open("/proc/kcore", O_RDONLY | O_CLOEXEC);
           const ssize_t size = file < 0 ? -1 : ::read(file, &byte, 1);
           return size == 0 ? stopped("masked: it is empty") : call(size, "the kernel's memory");
         }},
        {"kmsg",
         [] {
           char byte = 0;
           const int file = ::open("/proc/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
           const ssize_t size = file < 0 ? -1 : ::read(file, &byte, 1);
           return size == 0 ? stopped("masked: it is empty") : call(size, "the kernel's messages");
         }},
        {"list of keys",
         [] {
           char byte = 0;
           const int file = ::open("/proc/keys", O_RDONLY | O_CLOEXEC);
           const ssize_t size = file < 0 ? -1 : ::read(file, &byte, 1);
           return size == 0 ? stopped("masked: it is empty") : call(size, "the keys");
         }},
        {"uevent helper, power state",
         [] {
           return first_that_opens(
               {"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run"},
               O_WRONLY);
         }},
        {"control groups of the machine", cgroup_of_host},
        {"tracing of the kernel",
         [] {
           return first_that_opens({"/sys/kernel/tracing/trace", "/sys/kernel/debug/sched/debug"},
                                   O_RDWR);
         }},
        {"set the host name",
         [] {
           std::array<char, 256> name = {};
           ::gethostname(name.data(), name.size() - 1);
           return call(::sethostname(name.data(), std::strlen(name.data())), "the host name");
         }},
        // Calls that no recorded program needs.
        {"init_module",
         [] { return permitted(::syscall(SYS_init_module, nullptr, 0, ""), "modules"); }},
        {"finit_module",
         [] { return permitted(::syscall(SYS_finit_module, -1, "", 0), "modules"); }},
        {"delete_module",
         [] { return permitted(::syscall(SYS_delete_module, "no_such", O_NONBLOCK), "modules"); }},
        {"kexec_load",
         [] { return permitted(::syscall(SYS_kexec_load, 0, 0, nullptr, 0), "kexec"); }},
        {"reboot",
         [] {
           return permitted(::syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
                                      LINUX_REBOOT_CMD_CAD_OFF, nullptr),
                            "the machine");
         }},
        {"swapon", [] { return permitted(::swapon("/dev/null", 0), "swap"); }},
        {"swapoff", [] { return permitted(::swapoff("/dev/null"), "swap"); }},
        {"acct", [] { return permitted(::acct("/dev/null"), "accounting"); }},
        {"quotactl",
         [] {
           return permitted(::quotactl(QCMD(Q_SYNC, USRQUOTA), nullptr, 0, nullptr), "quotas");
         }},
        {"settimeofday", set_clock},
        {"clock_settime", set_clock_anew},
        {"adjtimex", tune_clock},
        {"iopl",
         [] {
#if defined(__x86_64__)
           return permitted(::iopl(3), "ports");
#else
           return stopped("not on this machine");
#endif
         }},
        {"ioperm",
         [] {
#if defined(__x86_64__)
           return permitted(::ioperm(0x80, 1, 1), "ports");
#else
           return stopped("not on this machine");
#endif
         }},
        {"syslog",
         [] { return permitted(::syscall(SYS_syslog, 3, nullptr, 0), "the kernel's log"); }},
        {"bpf", load_bpf},
        {"perf_event_open", watch_processor},
        {"userfaultfd",
         [] { return permitted(::syscall(SYS_userfaultfd, O_CLOEXEC), "page faults"); }},
        {"io_uring",
         [] {
           return permitted(::syscall(SYS_io_uring_setup, 0, nullptr), "calls that nobody sees");
         }},
        {"add_key", add_key},
        {"keyctl",
         [] {
           return permitted(::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0),
                            "the keyring");
         }},
        {"request_key",
         [] {
           return permitted(::syscall(SYS_request_key, "user", "probe-none", nullptr, 0), "keys");
         }},
        {"open_by_handle_at", by_handle},
        {"fanotify",
         [] { return permitted(::fanotify_init(FAN_CLASS_CONTENT, O_RDONLY), "all files"); }},
        {"umount through the 32-bit door", through_32_bit},
        {"umount through the x32 door", through_x32},
        // Network.
        {"an abstract socket outside", to_abstract_socket},
        {"a named socket outside", to_named_socket},
        {"a port outside", to_port},
        {"vsock", [] { return family(AF_VSOCK); }},
        {"kernel crypto sockets", [] { return family(AF_ALG); }},
        {"bluetooth", [] { return family(AF_BLUETOOTH); }},
        {"packet filter tables", configure_network},
        // More rights.
        {"a set-user-id program", [] { return gains_by_file(false); }},
        {"a program with capabilities", [] { return gains_by_file(true); }},
        {"trusted attributes",
         [] {
           const std::string at = own_folder() + "/trusted";
           ::mkdir(at.c_str(), 0700);
           return call(::setxattr(at.c_str(), "trusted.overlay.redirect", "/", 1, 0),
                       "the overlay");
         }},
        {"CAP_SYS_ADMIN", [] { return holds_capability(CAP_SYS_ADMIN, "CAP_SYS_ADMIN"); }},
        {"CAP_DAC_READ_SEARCH",
         [] { return holds_capability(CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"); }},
        {"CAP_BPF", [] { return holds_capability(CAP_BPF, "CAP_BPF"); }},
        {"CAP_SYS_RESOURCE", [] { return holds_capability(CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"); }},
        {"real-time priority", real_time},
        {"higher priority",
         [] {
           errno = 0;
           return call(::setpriority(PRIO_PROCESS, 0, -10) != 0 ? -1 : 0, "a higher priority");
         }},
        {"core files", core_limit},
        {"be spared when memory is short", spare_from_memory_killer},
        // Last: where they get through, nothing is as before.
        {"remount /proc/sys writable",
         [] {
           return call(::mount(nullptr, "/proc/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr),
                       "/proc/sys is writable");
         }},
        {"unmount the mask of /proc/sys",
         [] { return call(::umount2("/proc/sys", MNT_DETACH), "what is below the mask"); }},
        {"unmount the root", [] { return call(::umount2("/", MNT_DETACH), "what is below"); }},
    };
    all.insert(all.end(), loud.begin(), loud.end());
    return all;
  }();
  return kTries;
}

// In a process of its own: a try may lose its root or its life.
Outcome apart(const Try& one) {
  int ends[2];
  if (::pipe(ends) != 0) return stopped("no pipe");
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    const Outcome outcome = one.run();
    const std::string text = (outcome.reached ? "R" : "S") + outcome.text;
    [[maybe_unused]] const ssize_t ignored = ::write(1, text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer = {};
  for (ssize_t size = 0; (size = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (text.empty() && WIFSIGNALED(status))
    return stopped(std::string("signal ") + ::sigabbrev_np(WTERMSIG(status)));
  if (text.empty()) return reached("no answer");
  return {text[0] == 'R', text.substr(1)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Try& one : tries()) std::cout << one.name << "\n";
    return 0;
  }
  if (argc != 5) {
    std::cerr << "usage: escape_probe HOST_PID HOST_FOLDER HOST_PORT HOST_ABSTRACT_NAME | --list\n";
    return 2;
  }
  host = {std::atoi(argv[1]), argv[2], std::atoi(argv[3]), argv[4]};
  ::signal(SIGSYS, SIG_DFL);
  bool any = false;
  for (const Try& one : tries()) {
    const Outcome outcome = apart(one);
    any = any || outcome.reached;
    std::cout << one.name << "\t" << (outcome.reached ? "REACHED: " : "stopped: ") << outcome.text
              << "\n";
  }
  return any ? 1 : 0;
}
