#include "lib/process/recording/syscall_table.h"

#include <sys/syscall.h>

#include <array>

// Newer than the C library's headers; the numbers are the kernel's and never change.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_futex_wake
#define SYS_futex_wake 454
#define SYS_futex_wait 455
#define SYS_futex_requeue 456
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

namespace deadheat::process::recording {
namespace {

constexpr std::array<SyscallEntry, kMostSyscalls> make_table() {
  std::array<SyscallEntry, kMostSyscalls> table{};
#define DEADHEAT_SYSCALL(name, capture, effect) \
  table[SYS_##name] = {#name, capture, Effect::effect};
#include "lib/process/recording/syscalls.def"
#undef DEADHEAT_SYSCALL
  return table;
}

constexpr std::array<SyscallEntry, kMostSyscalls> kTable = make_table();
constexpr SyscallEntry kUnknown{};

}  // namespace

const SyscallEntry& syscall_entry(uint32_t number) {
  return number < kMostSyscalls ? kTable[number] : kUnknown;
}

std::string syscall_name(uint32_t number) {
  const SyscallEntry& entry = syscall_entry(number);
  return entry.name.empty() ? "syscall " + std::to_string(number) : std::string(entry.name);
}

}  // namespace deadheat::process::recording
