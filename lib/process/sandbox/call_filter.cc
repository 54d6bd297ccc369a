#include "lib/process/sandbox/call_filter.h"

#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace deadheat::process::sandbox {
namespace {

constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint32_t kNewTime = 0x80;  // CLONE_NEWTIME; in clone() these bits are the signal
constexpr uint32_t kInsertIntoTerminal = 0x5412, kConsoleSelection = 0x541c;  // TIOCSTI, TIOCLINUX
// For an unknown line discipline, for bridges, VLANs and frame relay the kernel loads a module.
constexpr uint32_t kSetDiscipline = 0x5423;  // TIOCSETD
constexpr std::array<uint32_t, 8> kDriverRequests = {
    0x8940, 0x8941, 0x8980, 0x8981,   // SIOC[GS]IFBR, SIOC(ADD|DEL)DLCI
    0x8982, 0x8983, 0x89a0, 0x89a1};  // SIOC[GS]IFVLAN, SIOCBR(ADD|DEL)BR

// Other families bypass network namespaces (vsock, bluetooth) or reach parts of the kernel that no
// ordinary program uses.
constexpr std::array<uint32_t, 4> kFamilies = {AF_UNIX, AF_INET, AF_INET6, AF_PACKET};
// Of internet protocols, those whose module is loaded when a socket is made: DCCP, L2TP, SCTP, SMC.
constexpr std::array<uint32_t, 4> kRareProtocols = {33, 115, 132, 256};
// Of netlink, what is part of every kernel: routes, user programs, SELinux, audit, devices.
constexpr std::array<uint32_t, 5> kNetlink = {NETLINK_ROUTE, NETLINK_USERSOCK, NETLINK_SELINUX,
                                              NETLINK_AUDIT, NETLINK_KOBJECT_UEVENT};

#ifndef SYS_open_tree_attr  // Linux 6.15
#define SYS_open_tree_attr 467
#endif

struct Forbidden {
  long native, i386;
  Permission lifts;
};

constexpr Forbidden kForbidden[] = {
#define DEADHEAT_FORBIDDEN(name, i386, lifts) {SYS_##name, i386, Permission::lifts},
#include "lib/process/sandbox/forbidden_calls.def"
#undef DEADHEAT_FORBIDDEN
};

// The numbers of the calls whose arguments decide.
struct Numbers {
  long clone, clone3, unshare, ioctl, socket, socketpair;
};
constexpr Numbers kNative = {SYS_clone, SYS_clone3, SYS_unshare,
                             SYS_ioctl, SYS_socket, SYS_socketpair};
constexpr Numbers kI386 = {120, 435, 310, 54, 359, 360};
// Old programs make all socket calls through one call, with its arguments in memory.
constexpr long kSocketCall = 102, kUmount = 22, kSetTime = 25, kClockSettime64 = 404;
constexpr uint32_t kMakeSocket = 1, kMakePair = 8;
constexpr uint32_t kX32 = 0x40000000;

#if defined(__x86_64__)
constexpr uint32_t kNativeArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kNativeArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "which architecture is this?"
#endif

// Calls that change a process of the same user, and which argument names it: the first process of
// the sandbox has the command's user. PID 1 there is the one that records it.
struct OfProcess {
  long native, i386;
  size_t argument;
};
constexpr OfProcess kOfProcess[] = {{SYS_prlimit64, 340, 0},      {SYS_sched_setaffinity, 241, 0},
                                    {SYS_sched_setparam, 154, 0}, {SYS_sched_setscheduler, 156, 0},
                                    {SYS_sched_setattr, 351, 0},  {SYS_setpriority, 97, 1},
                                    {SYS_ioprio_set, 289, 1}};

constexpr uint32_t fails_with(int number) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(number);
}

class Compiler {
 public:
  explicit Compiler(const Permissions& allow) : allow_(allow) {}

  // Expects the architecture to be loaded, as does everything before the first load().
  std::vector<sock_filter> native() {
    // A program of another architecture: its call numbers were not reviewed.
    jump(BPF_JEQ, kNativeArchitecture, 1, 0);
    answer(fails_with(ENOSYS));
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    jump(BPF_JGE, kX32, 0, 1);
    answer(fails_with(ENOSYS));
#endif
    for (const Forbidden& call : kForbidden)
      if (!allow_.has(call.lifts)) forbid(call.native);
    for (const OfProcess& call : kOfProcess) spare_first_process(call.native, call.argument);
    arguments(kNative);
    answer(SECCOMP_RET_ALLOW);
    return std::move(program_);
  }

  std::vector<sock_filter> i386() {
    load(offsetof(seccomp_data, nr));
    for (const Forbidden& call : kForbidden)
      if (!allow_.has(call.lifts) && call.i386 >= 0) forbid(call.i386);
    if (!allow_.has(Permission::kNamespaces)) forbid(kUmount);
    for (const long number : {kSetTime, kClockSettime64}) forbid(number);
    when(kSocketCall, offsetof(seccomp_data, args[0]), [&] {
      for (const uint32_t what : {kMakeSocket, kMakePair}) {
        jump(BPF_JEQ, what, 0, 1);
        answer(fails_with(ENOSYS));
      }
    });
    for (const OfProcess& call : kOfProcess) spare_first_process(call.i386, call.argument);
    arguments(kI386);
    answer(SECCOMP_RET_ALLOW);
    return std::move(program_);
  }

 private:
  void load(size_t offset) {
    program_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  void jump(uint16_t test, uint32_t value, uint8_t yes, uint8_t no) {
    program_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, yes, no));
  }
  void answer(uint32_t what) { program_.push_back(BPF_STMT(BPF_RET | BPF_K, what)); }

  void forbid(long number, int error = EPERM) {
    jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1);
    answer(fails_with(error));
  }

  void permit(uint32_t value) {
    jump(BPF_JEQ, value, 0, 1);
    answer(SECCOMP_RET_ALLOW);
  }

  // `judge` inspects the argument; values without an answer are allowed.
  template <typename Judge>
  void when(long number, size_t argument, Judge judge) {
    const size_t at = program_.size();
    jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 0);
    load(argument);
    judge();
    answer(SECCOMP_RET_ALLOW);
    program_[at].jf = static_cast<uint8_t>(program_.size() - at - 1);
  }

  void arguments(const Numbers& numbers) {
    const size_t first = offsetof(seccomp_data, args[0]), second = offsetof(seccomp_data, args[1]);
    const auto without = [&](uint32_t bits) {
      jump(BPF_JSET, bits, 0, 1);
      answer(fails_with(EPERM));
    };
    if (!allow_.has(Permission::kNamespaces)) {
      when(numbers.clone, first, [&] { without(kNamespaces); });
      when(numbers.unshare, first, [&] { without(kNamespaces | kNewTime); });
      forbid(numbers.clone3, ENOSYS);
    }
    when(numbers.ioctl, second, [&] {
      for (const uint32_t request : {kInsertIntoTerminal, kConsoleSelection, kSetDiscipline})
        forbid(static_cast<long>(request));
      if (allow_.has(Permission::kNetwork)) return;
      for (const uint32_t request : kDriverRequests) forbid(static_cast<long>(request));
    });
    for (const long makes : {numbers.socket, numbers.socketpair})
      when(makes, first, [&] { sockets(); });
  }

  // Expects the family to be loaded.
  void sockets() {
    const size_t protocol = offsetof(seccomp_data, args[2]);
    const bool any = allow_.has(Permission::kNetwork);
    when(AF_NETLINK, protocol, [&] {
      if (any) return;
      for (const uint32_t one : kNetlink) permit(one);
      answer(fails_with(EPERM));
    });
    for (const uint32_t family : {AF_INET, AF_INET6})
      when(family, protocol, [&] {
        if (any) return;
        for (const uint32_t one : kRareProtocols) forbid(one);
      });
    for (const uint32_t family : kFamilies) permit(family);
    answer(fails_with(EAFNOSUPPORT));
  }

  void spare_first_process(long number, size_t argument) {
    when(number, offsetof(seccomp_data, args) + argument * sizeof(uint64_t), [&] { forbid(1); });
  }

  const Permissions& allow_;
  std::vector<sock_filter> program_;
};

}  // namespace

std::vector<sock_filter> compile(const Permissions& allow) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch))};
  const std::vector<sock_filter> native = Compiler(allow).native();
#if defined(__x86_64__)
  const std::vector<sock_filter> i386 = Compiler(allow).i386();
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 0, 1));
  program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(native.size())));
#endif
  program.insert(program.end(), native.begin(), native.end());
#if defined(__x86_64__)
  program.insert(program.end(), i386.begin(), i386.end());
#endif
  return program;
}

Status install(const std::vector<sock_filter>& program) {
  const sock_fprog wanted = {static_cast<unsigned short>(program.size()),
                             const_cast<sock_filter*>(program.data())};
  // Without the flag some kernels slow down every filtered program, as protection against a danger
  // that it was exposed to before.
  for (const unsigned flags : {unsigned{SECCOMP_FILTER_FLAG_SPEC_ALLOW}, 0U})
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &wanted) == 0) return Ok{};
  return Error{std::string("cannot limit its system calls: ") + std::strerror(errno),
               "this kernel has no seccomp filters"};
}

}  // namespace deadheat::process::sandbox
