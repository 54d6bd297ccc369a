#include "lib/process/recording/syscall_table.h"

#include <fcntl.h>
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

struct EffectEntry {
  uint32_t traits;
  NewName new_name;
};

using enum NewName;
using enum TimeLimit;

constexpr EffectEntry kEffects[] = {
#define DEADHEAT_EFFECT(name, traits, new_name, words) {traits, new_name},
#include "lib/process/recording/syscalls.def"
};

constexpr SyscallEntry entry_of(std::string_view name, uint32_t capture, Effect effect,
                                TimeLimit limit = kNoLimit) {
  const EffectEntry& of = kEffects[static_cast<size_t>(effect)];
  return {name, capture, effect, limit, of.traits, of.new_name};
}

constexpr std::array<SyscallEntry, kMostSyscalls> make_table() {
  std::array<SyscallEntry, kMostSyscalls> table{};
#define DEADHEAT_SYSCALL(name, capture, effect, ...) \
  table[SYS_##name] = entry_of(#name, capture, Effect::effect __VA_OPT__(, ) __VA_ARGS__);
#include "lib/process/recording/syscalls.def"
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

bool waits(const deadheat_process_event& head) {
  if (head.kind != DEADHEAT_PROCESS_SYSCALL) return false;
  const SyscallEntry& entry = syscall_entry(head.number);
  return entry.is(kWaits) || (entry.is(kWaitsForLock) &&
                              (head.arguments[1] == F_SETLKW || head.arguments[1] == F_OFD_SETLKW));
}

bool has_time_limit(uint32_t number, const unsigned long* arguments) {
  constexpr unsigned long kFutexCommands = 0x7f, kFutexWake = 1;
  if (number == SYS_futex && (arguments[1] & kFutexCommands) == kFutexWake) return false;
  switch (syscall_entry(number).limit) {
    case kNoLimit:
      return false;
    case kSleeps:
    case kRestarted:
      return true;
    case kMilliseconds2:
      return static_cast<int>(arguments[2]) > 0;
    case kMilliseconds3:
      return static_cast<int>(arguments[3]) > 0;
    case kPointer2:
      return arguments[2] != 0;
    case kPointer3:
      return arguments[3] != 0;
    case kPointer4:
      return arguments[4] != 0;
  }
  return false;
}

std::optional<uint16_t> made_name_argument(uint32_t number, const uint64_t* arguments) {
  switch (syscall_entry(number).new_name) {
    case kNoName:
      return std::nullopt;
    case kMade0:
    case kReplaced0:
      return 0;
    case kMade1:
    case kReplaced1:
      return 1;
    case kMade2:
      return 2;
    case kMade3:
    case kReplaced3:
      return 3;
    case kOpened0:
      return (arguments[1] & O_CREAT) != 0 ? std::optional<uint16_t>(0) : std::nullopt;
    case kOpened1:
      return (arguments[2] & O_CREAT) != 0 ? std::optional<uint16_t>(1) : std::nullopt;
  }
  return std::nullopt;
}

bool makes_new_name(uint32_t number, const uint64_t* arguments) {
  constexpr uint64_t kNew = O_CREAT | O_EXCL;
  switch (syscall_entry(number).new_name) {
    case kMade0:
    case kMade1:
    case kMade2:
    case kMade3:
      return true;
    case kOpened0:
      return (arguments[1] & kNew) == kNew;
    case kOpened1:
      return (arguments[2] & kNew) == kNew;
    default:
      return false;
  }
}

}  // namespace deadheat::process::recording
