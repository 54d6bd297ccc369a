// What we know of each system call, from syscalls.def: its name, what a source attaches to its
// event, and what the model makes of it. One table for the recorders, the model, the replayer and
// the documentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deadheat::process::recording {

// What a source attaches to the event (abi/process_event.h says how). Bits.
enum Capture : uint32_t {
  kNone = 0,
  kPath0 = 1u << 0,  // PATH of that argument, read at entry, or at exit if its page was absent
  kPath1 = 1u << 1,
  kPath2 = 1u << 2,
  kPath3 = 1u << 3,
  kNewFd = 1u << 4,    // OBJECT of the result, if it is a descriptor
  kFdPair0 = 1u << 5,  // DESCRIPTORS at that argument, and the OBJECT of each
  kFdPair3 = 1u << 6,
  kFdArg0 = 1u << 7,  // DATA of what came in, only where that descriptor leads outside (terminal,
                      // inherited pipe, host network)
  kFdArg1 = 1u << 8,
  kLock2 = 1u << 9,      // LOCK, for fcntl's lock commands
  kOpenHow2 = 1u << 10,  // DATA: struct open_how
  kPolled0 = 1u << 11,   // POLLED, after the call
  kAddress1 = 1u << 12,  // ADDRESS at entry; its length is the next argument
  kAddress4 = 1u << 13,
  kAddressOut1 = 1u << 14,  // ADDRESS after the call; its length is where the next argument points
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

enum class Effect : uint8_t {
  kPrivate,     // not recorded
  kUnmodelled,  // recorded, counted and named
  kNothing,     // recorded for replay; changes nothing that others see
  kInput,       // brings something in that replay must feed
  kRead,
  kReadAt,
  kWrite,
  kWriteAt,
  kSendFile,
  kSplice,
  kTee,
  kCopyFileRange,
  kSeek,
  kOpen,
  kOpenAt,
  kOpenAt2,
  kCreat,
  kClose,
  kCloseRange,
  kDup,
  kDup2,
  kFcntl,
  kFlock,
  kIoctl,
  kPipe,
  kNewDescription,
  kEpollControl,
  kEpollWait,
  kPoll,
  kSelect,
  kStat,
  kFstat,
  kStatAt,
  kReadLink,
  kReadLinkAt,
  kGetdents,
  kUnlink,
  kUnlinkAt,
  kMake,
  kMakeAt,
  kRename,
  kRenameAt,
  kLink,
  kLinkAt,
  kSymlink,
  kSymlinkAt,
  kChangeMeta,
  kChangeMetaFd,
  kChangeMetaAt,
  kTruncate,
  kTruncateFd,
  kFallocate,
  kChdir,
  kFchdir,
  kChroot,
  kUmask,
  kMmap,
  kSocketPair,
  kBind,
  kListen,
  kSocketName,
  kConnect,
  kAccept,
  kShutdown,
  kSend,
  kReceive,
  kFork,
  kExec,
  kExecAt,
  kExit,
  kWait,
  kWaitId,
  kKill,
  kPidfdOpen,
  kPidfdSignal,
  kWaitSignal,
  kSignalState,  // ptrace only, and only where the second argument is given: else it only asks
  kGetppid,
  kProcessStore,
  kProcessLoad,
  kMount,
  kUmount,
  kGlobalStore,
  kGlobalLoad,
};

struct SyscallEntry {
  std::string_view name;  // empty: not in the table
  uint32_t capture = kNone;
  Effect effect = Effect::kUnmodelled;
};

constexpr uint32_t kMostSyscalls = 512;

// Numbers that the table does not have get an entry without a name.
const SyscallEntry& syscall_entry(uint32_t number);
// "openat", or "syscall 999".
std::string syscall_name(uint32_t number);
// Recorded at all: what is not private.
inline bool is_recorded(uint32_t number) {
  return syscall_entry(number).effect != Effect::kPrivate;
}

}  // namespace deadheat::process::recording
