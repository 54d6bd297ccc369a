#include "lib/process/sandbox/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace deadheat::process::sandbox {
namespace {

constexpr uint64_t bits(std::initializer_list<int> capabilities) {
  uint64_t all = 0;
  for (const int one : capabilities) all |= uint64_t{1} << one;
  return all;
}

constexpr int kHighest = 63;  // the kernel ignores unknown ones

// Required by useradd, dpkg and servers that start as root: files of all users, other users' ids,
// signals, ports below 1024.
constexpr uint64_t kOrdinary =
    bits({CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID,
          CAP_SETPCAP, CAP_SETFCAP, CAP_SYS_CHROOT, CAP_NET_BIND_SERVICE});
// Harmless inside a namespace: inspecting processes of other users (ps, fuser), ping.
constexpr uint64_t kInNamespace = bits({CAP_SYS_PTRACE, CAP_IPC_OWNER});

// With --in-place the command may change the machine's files, but not its clock or its kernel.
constexpr uint64_t kMachine =
    bits({CAP_SYS_TIME, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYSLOG, CAP_WAKE_ALARM,
          CAP_MAC_ADMIN, CAP_MAC_OVERRIDE, CAP_AUDIT_CONTROL, CAP_AUDIT_WRITE, CAP_AUDIT_READ,
          CAP_SYS_PACCT, CAP_MKNOD, CAP_BLOCK_SUSPEND});

}  // namespace

uint64_t kept_capabilities(const CapabilityBounds& bounds) {
  if (bounds.allow.has(Permission::kMachine)) return ~uint64_t{0};
  if (bounds.in_place) return ~kMachine;
  uint64_t kept = kOrdinary;
  if (bounds.own_user_namespace) {
    kept |= kInNamespace;
    if (bounds.allow.has(Permission::kNamespaces)) kept |= bits({CAP_SYS_ADMIN});
  }
  if (bounds.own_network) kept |= bits({CAP_NET_RAW});
  if (bounds.own_network && bounds.allow.has(Permission::kNetwork)) kept |= bits({CAP_NET_ADMIN});
  return kept;
}

void bound_capabilities(uint64_t kept) {
  for (int one = 0; one <= kHighest; ++one)
    if ((kept >> one & 1) == 0) ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);  // EPERM: there is none
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void drop_capabilities(uint64_t kept) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data = {};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return;
  for (size_t half = 0; half < data.size(); ++half) {
    const auto mask = static_cast<uint32_t>(kept >> (32 * half));
    data[half].permitted &= mask;
    data[half].effective &= mask;
    data[half].inheritable = 0;
  }
  ::syscall(SYS_capset, &header, data.data());
}

}  // namespace deadheat::process::sandbox
