// More ways out for the hostile command (escape_probe.cc): namespaces and processes by less known
// calls, the doors of other architectures, tracing, netlink, what lies in /proc and /sys, and
// objects that the machine's processes share.
#include <dirent.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "tests/process/escape_probe.h"

namespace escape {
namespace {

// Newer than the headers of some machines that this is built on.
constexpr long kOpenTreeAttributes = 467, kListMounts = 458, kPidHandle = 434;
constexpr unsigned kNextMountNamespace = 0x8010b70b;  // NS_MNT_GET_NEXT
constexpr int kSuspendFilter = 1 << 21;               // PTRACE_O_SUSPEND_SECCOMP
constexpr int kNewTime = 0x80, kIdle = 5, kDeadline = 6;

// The first regular file below it, processes apart, that opens for writing.
Outcome writable_file_below(const std::string& folder, int levels) {
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return stopped(error_name(errno));
  Outcome found = stopped("none can be opened for writing");
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name, path = folder + "/" + name;
    if (name[0] == '.' || (folder == "/proc" && name[0] >= '0' && name[0] <= '9')) continue;
    if (entry->d_type == DT_DIR && levels > 0) {
      found = writable_file_below(path, levels - 1);
      if (!found.reached) found = stopped("none can be opened for writing");
    } else if (entry->d_type == DT_REG) {
      const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
      // Root opens even what nobody can write; the call itself then fails. A mask is a device.
      struct stat info = {};
      if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
          ::write(file, "", 0) == 0)
        found = reached(path + " is open");
      ::close(file);
    }
    if (found.reached) break;
  }
  ::closedir(entries);
  return found;
}

Outcome first_of_process_1(const std::vector<const char*>& names, int flags) {
  std::string why = "none is there";
  for (const char* name : names) {
    const std::string path = std::string("/proc/1/") + name;
    const int file = ::open(path.c_str(), flags | O_CLOEXEC);
    char byte = 0;
    if (file >= 0 && (flags != O_RDONLY || ::read(file, &byte, 1) > 0)) return reached(path);
    why = error_name(errno);
    if (file >= 0) ::close(file);
  }
  return stopped(why);
}

Outcome namespace_ioctl(const char* name, unsigned request) {
  const int file = ::open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 64> answer = {};
  return permitted(::ioctl(file, request, answer.data()), "a namespace outside");
}

Outcome list_mounts_outside() {
  // Of the first mount namespace there ever was; its number is the same on every machine.
  const std::array<uint64_t, 4> request = {uint64_t{32}, ~uint64_t{0}, 0, uint64_t{1}};
  std::array<uint64_t, 16> mounts = {};
  return permitted(
      ::syscall(kListMounts, request.data(), mounts.data(), mounts.size(), 0) > 0 ? 0 : -1,
      "the machine's mounts");
}

// A child that makes `number` of its call of getpid, under a tracer that it chose itself.
Outcome renumbered_call(long number) {
#if defined(__x86_64__)
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    const long made = ::syscall(SYS_getpid, nullptr, 0);
    ::_exit(made >= 0 ? 0 : errno == EPERM ? 1 : 2);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return stopped("no tracer");
  bool changed = false;
  while (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0 &&
         ::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    user_regs_struct registers = {};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    if (changed || registers.orig_rax != SYS_getpid) continue;
    registers.orig_rax = static_cast<unsigned long long>(number);
    changed = ::ptrace(PTRACE_SETREGS, child, nullptr, &registers) == 0;
  }
  if (!changed) return stopped("no tracer");
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? stopped("EPERM (Operation not permitted)")
                                                       : reached("a call that the filter forbids");
#else
  (void)number;
  return stopped("not on this machine");
#endif
}

Outcome suspend_filter() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Outcome outcome = permitted(::ptrace(PTRACE_SEIZE, child, nullptr, kSuspendFilter),
                                    "a process without the filter");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return outcome;
}

// A later filter cannot allow what an earlier one forbids.
Outcome filter_that_allows() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program = {1, &allow};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return stopped(error_name(errno));
  return permitted(::syscall(SYS_umount2, nullptr, 0), "umount");
}

// One number of the 32-bit table with up to three arguments.
Outcome door_32(long number, long first, long second = 0, long third = 0) {
#if defined(__x86_64__)
  long result = number;
  asm volatile("int $0x80"
               : "+a"(result)
               : "b"(first), "c"(second), "d"(third)
               : "memory", "r8", "r9", "r10", "r11");
  if (number == 120 && result == 0) ::_exit(0);  // the child of a clone
  errno = static_cast<int>(-result);
  return permitted(result < 0 ? -1 : 0, "call " + std::to_string(number));
#else
  (void)number, (void)first, (void)second, (void)third;
  return stopped("not on this machine");
#endif
}

Outcome first_reached(const std::vector<Outcome>& all) {
  for (const Outcome& one : all)
    if (one.reached) return one;
  return all.front();
}

// Settings of a process, by calls that compare user ids only.
Outcome settings_of_process_1() {
  rlimit limit = {};
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  sched_param plain = {};
  errno = 0;
  std::vector<Outcome> all = {
      call(::prlimit(1, RLIMIT_CPU, nullptr, &limit), "the limits of process 1"),
      call(::sched_setaffinity(1, sizeof set, &set), "the processors of process 1"),
      call(::sched_setscheduler(1, kIdle, &plain), "the policy of process 1"),
      call(::setpriority(PRIO_PROCESS, 1, 19), "the priority of process 1"),
      call(::syscall(SYS_ioprio_set, 1, 1, 3 << 13), "the disk priority of process 1")};
  return first_reached(all);
}

Outcome tell_kernel(int protocol, uint16_t type) {
  const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (file < 0) return stopped(error_name(errno));
  struct {
    nlmsghdr head;
    std::array<char, 64> body;
  } message = {{sizeof message, type, NLM_F_REQUEST | NLM_F_ACK, 1, 0}, {}};
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  // ECONNREFUSED: only the machine's own network namespace has this part of the kernel.
  if (::sendto(file, &message, sizeof message, 0, reinterpret_cast<sockaddr*>(&kernel),
               sizeof kernel) < 0)
    return stopped(error_name(errno));
  struct {
    nlmsghdr head;
    nlmsgerr error;
    std::array<char, 256> rest;
  } answer = {};
  if (::recv(file, &answer, sizeof answer, MSG_DONTWAIT) < 0) return stopped(error_name(errno));
  if (answer.head.nlmsg_type != NLMSG_ERROR) return reached("an answer");
  errno = -answer.error.error;
  if (errno == ECONNREFUSED) return stopped(error_name(errno));
  return permitted(answer.error.error == 0 ? 0 : -1, "a setting of the kernel");
}

// As udev does for a device that was plugged in: to everybody who listens.
Outcome announce_device() {
  const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
  sockaddr_nl all = {};
  all.nl_family = AF_NETLINK;
  all.nl_groups = 2;
  const char text[] = "libudev";
  const ssize_t sent =
      ::sendto(file, text, sizeof text, 0, reinterpret_cast<sockaddr*>(&all), sizeof all);
  // In a network of its own nobody else listens.
  if (sent >= 0 && ::access("/sys/class/net/lo", F_OK) == 0) {
    DIR* cards = ::opendir("/sys/class/net");
    int count = 0;
    while (cards != nullptr && ::readdir(cards) != nullptr) ++count;
    if (count <= 3) return stopped("only its own network hears it");
  }
  return call(sent, "those who listen to devices");
}

Outcome beyond_the_machine() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(0xc0000201);  // 192.0.2.1, kept for documentation
  const int file = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return call(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address),
              "a route to other machines");
}

Outcome shared_memory_outside() {
  shm_info about = {};
  const int highest = ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&about));
  if (highest < 0) return stopped(error_name(errno));
  return about.used_ids > 0 ? reached(std::to_string(about.used_ids) + " segments")
                            : stopped("a namespace of its own has none");
}

Outcome queue_outside() {
  const std::string name = "/" + host.name;
  return call(::mq_open(name.c_str(), O_RDWR | O_NONBLOCK), "the queue");
}

// What the machine's root keeps from everybody else of its own file systems.
Outcome change_of_file_system() {
  const int file = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fstrim_range range = {0, 0, ~uint64_t{0}};
  std::vector<Outcome> all = {call(::ioctl(file, FIFREEZE, 0), "a frozen file system"),
                              call(::ioctl(file, FITRIM, &range), "a trimmed file system")};
  const int own = ::open((host.folder + "/frozen").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  int flags = FS_IMMUTABLE_FL, block = 0;
  all.push_back(permitted(::ioctl(own, FIBMAP, &block), "blocks of the disk"));
  all.push_back(::ioctl(own, FS_IOC_SETFLAGS, &flags) == 0 ? reached("an immutable file")
                                                           : stopped(error_name(errno)));
  return first_reached(all);
}

// An overlay shows a device with the number 0:0 as "deleted", a folder with this attribute as
// "hides what is below": made by hand they would change what the next sandbox sees.
Outcome forged_overlay_marks() {
  const std::string folder = host.folder + "/marks";
  ::mkdir(folder.c_str(), 0700);
  std::vector<Outcome> all = {call(
      ::mknod((folder + "/gone").c_str(), S_IFCHR | 0600, makedev(0, 0)), "a mark of deletion")};
  for (const char* name : {"trusted.overlay.opaque", "trusted.overlay.metacopy"})
    all.push_back(call(::setxattr(folder.c_str(), name, "y", 1, 0), name));
  return first_reached(all);
}

Outcome wake_alarm() {
  timer_t timer = nullptr;
  sigevent event = {};
  event.sigev_notify = SIGEV_NONE;
  return call(::timer_create(CLOCK_REALTIME_ALARM, &event, &timer),
              "a timer that wakes the machine");
}

Outcome entropy() {
  const int file = ::open("/dev/urandom", O_RDWR | O_CLOEXEC);
  int bits = 0;
  return first_reached({permitted(::ioctl(file, RNDCLEARPOOL, nullptr), "the machine's entropy"),
                        permitted(::ioctl(file, RNDADDTOENTCNT, &bits), "the machine's entropy")});
}

Outcome deadline_policy() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } wanted = {sizeof wanted, kDeadline, 0, 0, 0, 10'000'000, 30'000'000, 30'000'000};
  return permitted(::syscall(SYS_sched_setattr, 0, &wanted, 0), "a part of a processor for itself");
}

Outcome raise_limits() {
  const rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
  rlimit now = {};
  for (const auto what : {RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_MEMLOCK, RLIMIT_RTPRIO}) {
    ::getrlimit(what, &now);
    if (now.rlim_max != RLIM_INFINITY && ::setrlimit(what, &none) == 0)
      return reached("a limit that was lifted");
  }
  return stopped("EPERM (Operation not permitted)");
}

Outcome terminal_of_the_caller() {
  const int console = 0;
  return first_reached({call(::ioctl(0, TIOCSCTTY, 1), "the terminal"),
                        call(::ioctl(0, TIOCCONS, &console), "the console's messages"),
                        call(::syscall(SYS_ioctl, 0, uint64_t{1} << 32 | TIOCSTI, "x"),
                             "the terminal's input by a long number"),
                        permitted(::syscall(SYS_vhangup), "the terminal's end")});
}

Outcome handle_of_process_1(long what) {
  const auto handle = static_cast<int>(::syscall(kPidHandle, 1, 0));
  if (handle < 0) return stopped(error_name(errno));
  if (what == SYS_setns) return permitted(::syscall(SYS_setns, handle, CLONE_NEWNS), "its mounts");
  char byte = 0;
  iovec range = {&byte, 1};
  return permitted(::syscall(what, handle, &range, 1, 20, 0), "the memory of process 1");
}

Outcome write_memory_of_process_1() {
  char byte = 0;
  iovec here = {&byte, 1}, there = {reinterpret_cast<void*>(0x400000), 1};
  return permitted(::process_vm_writev(1, &here, 1, &there, 1, 0), "the memory of process 1");
}

Outcome pages_of_process_1() {
  const unsigned long all = 1;
  void* page = nullptr;
  int node = 0, status = 0;
  return first_reached(
      {permitted(::syscall(SYS_migrate_pages, 1, 8, &all, &all), "the pages of process 1"),
       permitted(::syscall(SYS_move_pages, 1, 1, &page, &node, &status, 0),
                 "the pages of process 1")});
}

Outcome pair_of(int family, int kind) {
  int ends[2] = {-1, -1};
  const int made = ::socketpair(family, kind | SOCK_CLOEXEC, 0, ends);
  // The kernel has looked for the family, and would have loaded its module, before it says this.
  if (made < 0 && (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT))
    return reached("family " + std::to_string(family));
  return permitted(made, "family " + std::to_string(family));
}

}  // namespace

std::vector<Try> quiet_tries() {
  return {
      {"any file of /proc that is no process's", [] { return writable_file_below("/proc", 4); }},
      {"any file of /sys", [] { return writable_file_below("/sys", 5); }},
      {"program, maps and stack of process 1",
       [] {
         return first_of_process_1({"exe", "maps", "stack", "syscall", "mem", "auxv", "pagemap"},
                                   O_RDONLY);
       }},
      {"settings in the folder of process 1",
       [] {
         return first_of_process_1({"oom_score_adj", "clear_refs", "coredump_filter", "autogroup",
                                    "timerslack_ns", "uid_map", "setgroups", "mem"},
                                   O_WRONLY);
       }},
      {"limits and priority of process 1", settings_of_process_1},
      {"write the memory of process 1", write_memory_of_process_1},
      {"move the pages of process 1", pages_of_process_1},
      {"advise the memory of process 1", [] { return handle_of_process_1(SYS_process_madvise); }},
      {"enter process 1 by its handle", [] { return handle_of_process_1(SYS_setns); }},
      {"compare with process 1",
       [] { return permitted(::syscall(SYS_kcmp, 1, ::getpid(), 0, 0, 0), "its files"); }},
      {"the PID namespace above", [] { return namespace_ioctl("pid", NS_GET_PARENT); }},
      {"the user namespace above", [] { return namespace_ioctl("user", NS_GET_PARENT); }},
      {"the next mount namespace", [] { return namespace_ioctl("mnt", kNextMountNamespace); }},
      {"list the mounts outside", list_mounts_outside},
      {"open_tree_attr",
       [] {
         return permitted(::syscall(kOpenTreeAttributes, AT_FDCWD, "/", 1, nullptr, 0), "a mount");
       }},
      {"unshare a time namespace", [] { return call(::unshare(kNewTime), "another clock"); }},
      {"unshare a control group namespace",
       [] { return call(::unshare(CLONE_NEWCGROUP), "a namespace of its own"); }},
      {"unshare PID and network namespaces",
       [] {
         return first_reached({call(::unshare(CLONE_NEWPID), "a namespace of its own"),
                               call(::unshare(CLONE_NEWNET), "a namespace of its own")});
       }},
      {"a filter that allows again", filter_that_allows},
      {"a tracer that suspends the filter", suspend_filter},
      {"a tracer that changes the call", [] { return renumbered_call(SYS_umount2); }},
      {"namespaces through the 32-bit door",
       [] {
         return first_reached({door_32(310, CLONE_NEWUSER), door_32(120, CLONE_NEWUSER | SIGCHLD),
                               door_32(346, 0, CLONE_NEWNS), door_32(217, 0, 0)});
       }},
      {"bpf, perf and keys through the 32-bit door",
       [] { return first_reached({door_32(357, 0), door_32(336, 0), door_32(288, 0, -4)}); }},
      {"io_uring through the 32-bit door", [] { return door_32(425, 0, 0); }},
      {"socket calls through the 32-bit door",
       [] { return first_reached({door_32(359, AF_VSOCK, SOCK_STREAM), door_32(102, 1, 0)}); }},
      {"terminal input through the 32-bit door", [] { return door_32(54, 0, TIOCSTI); }},
      {"pairs of sockets of rare families",
       [] {
         return first_reached({pair_of(30 /* TIPC */, SOCK_SEQPACKET),
                               pair_of(AF_VSOCK, SOCK_STREAM), pair_of(AF_ALG, SOCK_SEQPACKET)});
       }},
      {"rules of the audit", [] { return tell_kernel(NETLINK_AUDIT, AUDIT_SET); }},
      {"announce a device", announce_device},
      {"another machine", beyond_the_machine},
      {"shared memory outside", shared_memory_outside},
      {"a message queue outside", queue_outside},
      {"a named pipe outside",
       [] {
         return call(::open((host.folder + "/pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC),
                     "the reader");
       }},
      {"freeze, trim and flags of a file system", change_of_file_system},
      {"marks of the overlay", forged_overlay_marks},
      {"wake the machine", wake_alarm},
      {"the machine's entropy", entropy},
      {"a deadline policy", deadline_policy},
      {"raise limits", raise_limits},
      {"take the caller's terminal", terminal_of_the_caller},
      {"lift the ban on user namespaces",
       [] { return opens("/proc/sys/user/max_user_namespaces", O_WRONLY); }},
      {"the name of the domain", [] { return call(::setdomainname("x", 1), "the name"); }},
      {"handlers of other binary formats",
       [] { return opens("/proc/sys/fs/binfmt_misc/register", O_WRONLY); }},
      {"control group agents", [] { return opens("/sys/fs/cgroup/release_agent", O_WRONLY); }},
  };
}

}  // namespace escape
