// What we know of each system call, from syscalls.def: its name, what a source attaches to its
// event, and how the model interprets it. One table for the recorders, the model, the replayer and
// the documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "abi/process_event.h"

namespace deadheat::process::recording {

// What a source attaches to the event (abi/process_event.h defines the formats). Bits.
enum Capture : uint32_t {
  kNone = 0,
  kPath0 = 1u << 0,  // PATH of that argument, read at entry, or at exit if its page was absent
  kPath1 = 1u << 1,
  kPath2 = 1u << 2,
  kPath3 = 1u << 3,
  kNewFd = 1u << 4,    // OBJECT of the result, if it is a descriptor
  kFdPair0 = 1u << 5,  // DESCRIPTORS at that argument, and the OBJECT of each
  kFdPair3 = 1u << 6,
  kFdArg0 = 1u << 7,  // DATA of received bytes, only if that descriptor leads outside (terminal,
                      // inherited pipe, host network)
  kFdArg1 = 1u << 8,
  kLock2 = 1u << 9,      // LOCK, for fcntl's lock commands
  kOpenHow2 = 1u << 10,  // DATA: struct open_how
  kPolled0 = 1u << 11,   // POLLED, after the call
  kAddress1 = 1u << 12,  // ADDRESS at entry; its length is the next argument
  kAddress4 = 1u << 13,
  kAddressOut1 = 1u << 14,  // ADDRESS after the call; the next argument points to its length
  kAddressOut4 = 1u << 15,
  kMessage1 = 1u << 16,     // DESCRIPTORS in the control message, ADDRESS of the message
  kWaitStatus1 = 1u << 17,  // STATUS: pid is the result
  kWaitInfo2 = 1u << 18,    // STATUS from siginfo_t
  kData0 = 1u << 19,        // DATA: result bytes
  kClock0 = 1u << 20,       // DATA: 16 bytes
  kClock1 = 1u << 21,
  kSharedMapOnly = 1u << 22,  // recorded only for MAP_SHARED of a file
  kSignalSet1 = 1u << 23,     // DATA: the set of signals, read at entry
};

// Properties of a call besides its loads and stores. Bits: columns of DEADHEAT_EFFECT.
enum Trait : uint32_t {
  kPlain = 0,
  // Waiting.
  kWaits = 1u << 0,            // for another task's action
  kWaitsForLock = 1u << 1,     // only fcntl's two commands that wait for a lock
  kWaitsForChild = 1u << 2,    // for the end of a child
  kPolls = 1u << 3,            // until one of several is ready, or a timeout
  kEndedBySignal = 1u << 4,    // a signal is among what it waits for
  kEndsAlone = 1u << 5,        // independent of other tasks
  kEndsAloneOnFile = 1u << 6,  // if the first argument is a regular file
  // Matching with the recorded call.
  kSameFd = 1u << 7,  // the first argument is a descriptor, equal in a repeated run
  // Text.
  kSaysFd = 1u << 8,     // the file behind the first argument describes the call
  kSaysBytes = 1u << 9,  // the result is a number of bytes
  // Kinds of calls that several places test for.
  kTakesIn = 1u << 10,   // bytes of a socket or pipe, by the first argument
  kGivesOut = 1u << 11,  // bytes to a socket or pipe
  kOpens = 1u << 12,
  kExecutes = 1u << 13,
};

// The argument that names what a call makes. Opened: only with O_CREAT in the next argument.
// Replaced: what had the name before is gone.
enum class NewName : uint8_t {
  kNoName,
  kMade0,
  kMade1,
  kMade2,
  kMade3,
  kReplaced0,
  kReplaced1,
  kReplaced3,
  kOpened0,
  kOpened1,
};

enum class Effect : uint8_t {
#define DEADHEAT_EFFECT(name, traits, new_name, words) name,
#include "lib/process/recording/syscalls.def"
};

// How long a call waits at most, and which argument says so.
enum class TimeLimit : uint8_t {
  kNoLimit,
  kSleeps,     // it does nothing else
  kRestarted,  // that of the call that goes on
  kMilliseconds2,
  kMilliseconds3,
  kPointer2,  // none if it is null
  kPointer3,
  kPointer4,
};

struct SyscallEntry {
  std::string_view name;  // empty: not in the table
  uint32_t capture = kNone;
  Effect effect = Effect::kUnmodelled;
  TimeLimit limit = TimeLimit::kNoLimit;
  uint32_t traits = kPlain;
  NewName new_name = NewName::kNoName;

  bool is(uint32_t trait) const { return (traits & trait) != 0; }
};

constexpr uint32_t kMostSyscalls = 512;

// Numbers outside the table get an entry without a name.
const SyscallEntry& syscall_entry(uint32_t number);
// "openat", or "syscall 999".
std::string syscall_name(uint32_t number);
// Whether it is recorded at all: every call that is not private.
inline bool is_recorded(uint32_t number) {
  return syscall_entry(number).effect != Effect::kPrivate;
}

// A system call that may wait for another task; its effect is at its end.
bool waits(const deadheat_process_event& head);
// It waits for a time that its arguments limit.
bool has_time_limit(uint32_t number, const unsigned long* arguments);
// It does nothing but wait until a time has passed.
inline bool only_sleeps(uint32_t number) {
  return syscall_entry(number).limit == TimeLimit::kSleeps;
}
// Which argument names what the call makes, if it makes a name at all; also where the name was
// there.
std::optional<uint16_t> made_name_argument(uint32_t number, const uint64_t* arguments);
// A call that makes a name that was not there, or fails.
bool makes_new_name(uint32_t number, const uint64_t* arguments);

}  // namespace deadheat::process::recording
