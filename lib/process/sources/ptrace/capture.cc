#include "lib/process/sources/ptrace/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "lib/process/recording/bytes_of.h"
#include "lib/process/recording/event.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::sources {
namespace {

constexpr size_t kMostData = 65536;

uint64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

bool takes_lock(uint64_t command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
         command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

// As passed to open; the kernel stores more, but the model needs these.
uint32_t open_flags(const deadheat_process_event& head) {
  switch (head.number) {
    case SYS_open:
      return static_cast<uint32_t>(head.arguments[1]);
    case SYS_openat:
      return static_cast<uint32_t>(head.arguments[2]);
    case SYS_creat:
      return O_CREAT | O_WRONLY | O_TRUNC;
    default:
      return 0;
  }
}

}  // namespace

void PendingCall::attach(uint16_t type, uint16_t argument, std::string bytes) {
  attached_.push_back({type, argument, std::move(bytes)});
}

const std::string* PendingCall::path(uint16_t argument) const {
  for (const Attached& one : attached_)
    if (one.type == DEADHEAT_ATTACH_PATH && one.argument == argument) return &one.bytes;
  return nullptr;
}

void PendingCall::attach_path(const Tracee& tracee, uint16_t argument) {
  if (head_.arguments[argument] == 0) return;
  auto text = tracee.read_string({head_.arguments[argument]});
  if (text)
    attach(DEADHEAT_ATTACH_PATH, argument, std::move(*text));
  else
    head_.flags |= DEADHEAT_PROCESS_UNREADABLE;
}

void PendingCall::attach_object(const Tracee& tracee, int descriptor, uint16_t argument) {
  static uint64_t descriptions = 0;
  auto object = tracee.object(descriptor);
  if (!object) return;
  object->description = ++descriptions;
  object->flags = open_flags(head_);
  attach(DEADHEAT_ATTACH_OBJECT, argument, recording::bytes_of(*object));
}

void PendingCall::attach_pair(const Tracee& tracee, uint16_t argument) {
  auto pair = tracee.read({head_.arguments[argument]}, 8);
  if (!pair) return;
  int32_t descriptors[2];
  std::memcpy(descriptors, pair->data(), 8);
  attach(DEADHEAT_ATTACH_DESCRIPTORS, argument, std::move(*pair));
  for (const int32_t descriptor : descriptors) attach_object(tracee, descriptor, argument);
}

void PendingCall::attach_address(const Tracee& tracee, uint16_t argument, uint64_t length) {
  if (head_.arguments[argument] == 0 || length == 0) return;
  auto bytes = tracee.read({head_.arguments[argument]},
                           std::min<uint64_t>(length, sizeof(sockaddr_storage)));
  if (bytes) attach(DEADHEAT_ATTACH_ADDRESS, argument, std::move(*bytes));
}

// Descriptors in SCM_RIGHTS, and the sender or receiver of the message.
void PendingCall::attach_message(const Tracee& tracee) {
  const auto message = tracee.read_as<msghdr>({head_.arguments[1]});
  if (!message) return;
  if (message->msg_name != nullptr && message->msg_namelen > 0) {
    auto name = tracee.read({reinterpret_cast<uint64_t>(message->msg_name)},
                            std::min<size_t>(message->msg_namelen, sizeof(sockaddr_storage)));
    if (name) attach(DEADHEAT_ATTACH_ADDRESS, 1, std::move(*name));
  }
  if (message->msg_control == nullptr || message->msg_controllen < sizeof(cmsghdr)) return;
  auto control = tracee.read({reinterpret_cast<uint64_t>(message->msg_control)},
                             std::min<size_t>(message->msg_controllen, kMostData));
  if (!control) return;
  msghdr local{};
  local.msg_control = control->data();
  local.msg_controllen = control->size();
  for (cmsghdr* one = CMSG_FIRSTHDR(&local); one != nullptr; one = CMSG_NXTHDR(&local, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS ||
        one->cmsg_len < CMSG_LEN(0))
      continue;
    const std::string descriptors(reinterpret_cast<const char*>(CMSG_DATA(one)),
                                  one->cmsg_len - CMSG_LEN(0));
    attach(DEADHEAT_ATTACH_DESCRIPTORS, 1, descriptors);
    for (size_t at = 0; at + 4 <= descriptors.size(); at += 4) {
      int32_t descriptor;
      std::memcpy(&descriptor, descriptors.data() + at, 4);
      attach_object(tracee, descriptor, 1);
    }
  }
}

void PendingCall::attach_status(const Tracee& tracee, uint32_t capture) {
  int32_t both[2] = {static_cast<int32_t>(head_.result), 0};
  if (capture & recording::kWaitStatus1) {
    if (head_.result <= 0) return;
    if (head_.arguments[1] != 0)
      both[1] = tracee.read_as<int32_t>({head_.arguments[1]}).value_or(0);
  } else {
    const auto info =
        head_.arguments[2] ? tracee.read_as<siginfo_t>({head_.arguments[2]}) : std::nullopt;
    if (!info || info->si_pid == 0) return;
    both[0] = info->si_pid;
    both[1] = info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status;
  }
  attach(DEADHEAT_ATTACH_STATUS, capture & recording::kWaitStatus1 ? 1 : 2,
         {reinterpret_cast<const char*>(both), sizeof both});
}

namespace {

bool is_select(uint32_t number) { return number == SYS_select || number == SYS_pselect6; }

size_t set_size(uint64_t descriptors) {
  constexpr uint64_t kMostDescriptors = 65536, kBitsInWord = 64;
  return (std::min(descriptors, kMostDescriptors) + kBitsInWord - 1) / kBitsInWord * 8;
}

bool has(const std::string& set, size_t descriptor) {
  return descriptor / 8 < set.size() &&
         (static_cast<unsigned char>(set[descriptor / 8]) >> (descriptor % 8) & 1) != 0;
}

}  // namespace

void PendingCall::read_sets(const Tracee& tracee) {
  for (size_t i = 0; i < sets_.size(); i++) {
    const uint64_t at = head_.arguments[i + 1];
    sets_[i] = at == 0 ? std::string()
                       : tracee.read({at}, set_size(head_.arguments[0])).value_or(std::string());
  }
}

// In poll's format: the sets are the call's arguments before it and its results after it.
void PendingCall::attach_selected(const Tracee& tracee) {
  static constexpr int16_t kEvents[3] = {POLLIN, POLLOUT, POLLPRI};
  const std::array<std::string, 3> given = sets_;
  if (head_.result > 0) read_sets(tracee);
  std::string bytes;
  for (size_t descriptor = 0; descriptor < set_size(head_.arguments[0]) * 8; descriptor++) {
    deadheat_process_polled polled{static_cast<int32_t>(descriptor), 0, 0};
    for (size_t i = 0; i < given.size(); i++) {
      if (!has(given[i], descriptor)) continue;
      polled.events = static_cast<int16_t>(polled.events | kEvents[i]);
      if (head_.result > 0 && has(sets_[i], descriptor))
        polled.returned = static_cast<int16_t>(polled.returned | kEvents[i]);
    }
    if (polled.events != 0) bytes += recording::bytes_of(polled);
  }
  if (!bytes.empty()) attach(DEADHEAT_ATTACH_POLLED, 0, std::move(bytes));
}

void PendingCall::enter(const Tracee& tracee, const CallInfo& call, int process, uint64_t begin) {
  head_ = {};
  attached_.clear();
  head_.kind = DEADHEAT_PROCESS_SYSCALL;
  head_.task = tracee.task();
  head_.process = process;
  head_.begin = begin;
  head_.end = begin;
  head_.time_ns = now_ns();
  head_.number = call.number;
  std::memcpy(head_.arguments, call.arguments, sizeof head_.arguments);
  const uint32_t capture = recording::syscall_entry(call.number).capture;
  for (uint16_t argument = 0; argument < 4; argument++)
    if (capture & (recording::kPath0 << argument)) attach_path(tracee, argument);
  if (capture & recording::kAddress1) attach_address(tracee, 1, call.arguments[2]);
  if (capture & recording::kAddress4) attach_address(tracee, 4, call.arguments[5]);
  if ((capture & recording::kLock2) && takes_lock(call.arguments[1])) {
    const auto lock = tracee.read_as<struct flock>({call.arguments[2]});
    if (lock)
      attach(DEADHEAT_ATTACH_LOCK, 2,
             recording::bytes_of(deadheat_process_lock{lock->l_start, lock->l_len, lock->l_type,
                                                       lock->l_whence, lock->l_pid}));
  }
  if (capture & recording::kOpenHow2) {
    auto how = tracee.read({call.arguments[2]}, std::min<uint64_t>(call.arguments[3], 24));
    if (how) attach(DEADHEAT_ATTACH_DATA, 2, std::move(*how));
  }
  if (capture & recording::kSignalSet1) {
    auto set = tracee.read({call.arguments[1]}, sizeof(uint64_t));
    if (set) attach(DEADHEAT_ATTACH_DATA, 1, std::move(*set));
  }
  if ((capture & recording::kMessage1) && call.number == SYS_sendmsg) attach_message(tracee);
  if (is_select(call.number)) read_sets(tracee);
}

void PendingCall::leave(const Tracee& tracee, int64_t result, uint64_t end) {
  head_.result = result;
  head_.end = end;
  if (result < 0) return;
  const uint32_t capture = recording::syscall_entry(head_.number).capture;
  if (capture & recording::kNewFd)
    attach_object(tracee, static_cast<int>(result), DEADHEAT_ARGUMENT_RESULT);
  if (capture & recording::kFdPair0) attach_pair(tracee, 0);
  if (capture & recording::kFdPair3) attach_pair(tracee, 3);
  if (capture & (recording::kAddressOut1 | recording::kAddressOut4)) {
    const uint16_t argument = capture & recording::kAddressOut1 ? 1 : 4;
    const auto length = head_.arguments[argument + 1]
                            ? tracee.read_as<uint32_t>({head_.arguments[argument + 1]})
                            : std::nullopt;
    if (length) attach_address(tracee, argument, *length);
  }
  if ((capture & recording::kMessage1) && head_.number == SYS_recvmsg) attach_message(tracee);
  if (capture & (recording::kWaitStatus1 | recording::kWaitInfo2)) attach_status(tracee, capture);
  if (is_select(head_.number)) attach_selected(tracee);
  if (capture & recording::kPolled0) {
    auto polled = tracee.read({head_.arguments[0]},
                              std::min<uint64_t>(head_.arguments[1], 1024) * sizeof(pollfd));
    if (polled) attach(DEADHEAT_ATTACH_POLLED, 0, std::move(*polled));
  }
  const auto data = [&](uint16_t argument, size_t size) {
    auto bytes =
        head_.arguments[argument] ? tracee.read({head_.arguments[argument]}, size) : std::nullopt;
    if (bytes) attach(DEADHEAT_ATTACH_DATA, argument, std::move(*bytes));
  };
  if (capture & recording::kData0)
    data(0, std::min<size_t>(static_cast<size_t>(result), kMostData));
  if (capture & recording::kClock0) data(0, 16);
  if (capture & recording::kClock1) data(1, 16);
}

void PendingCall::attach_read(const Tracee& tracee) {
  auto bytes = tracee.read({head_.arguments[1]},
                           std::min<size_t>(static_cast<size_t>(head_.result), kMostData));
  if (bytes) attach(DEADHEAT_ATTACH_DATA, 1, std::move(*bytes));
}

void PendingCall::abandon(uint64_t end) {
  head_.end = end;
  head_.flags |= DEADHEAT_PROCESS_UNFINISHED;
}

std::string PendingCall::event() const {
  recording::EventBuilder builder(head_);
  for (const Attached& one : attached_) builder.attach(one.type, one.argument, one.bytes);
  return builder.take();
}

}  // namespace deadheat::process::sources
