#include "lib/process/sources/ptrace/outside.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/process_event.h"
#include "lib/base/scoped_fd.h"
#include "lib/process/recording/event.h"
#include "lib/process/recording/syscall_table.h"
#include "lib/process/sources/ptrace/tracer.h"

namespace deadheat::process::sources {
namespace {

constexpr uint64_t kMostKept = 64u << 20;  // bytes per conversation
constexpr size_t kAddressRoom = 28;
constexpr uint64_t kOnePiece = 16384;
constexpr uint64_t kMostMessages = 1024;  // the kernel's own limit per call

bool goes_on_later(int64_t result) {
  return result == -EINPROGRESS || recording::was_interrupted(result);
}

// Duplicates the program's socket for as long as we inspect it.
ScopedFd borrow(const TracedTask& task, int descriptor) {
  const ScopedFd process(static_cast<int>(::syscall(SYS_pidfd_open, task.process, 0)));
  if (!process.valid()) return ScopedFd(-1);
  return ScopedFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
}

std::string gather(const Tracee& tracee, const msghdr& message, uint64_t most) {
  std::string bytes;
  const auto parts = tracee.read({reinterpret_cast<uint64_t>(message.msg_iov)},
                                 std::min<size_t>(message.msg_iovlen, 1024) * sizeof(iovec));
  if (!parts) return bytes;
  for (size_t at = 0; at + sizeof(iovec) <= parts->size() && bytes.size() < most;
       at += sizeof(iovec)) {
    iovec part;
    std::memcpy(&part, parts->data() + at, sizeof part);
    const auto piece = tracee.read({reinterpret_cast<uint64_t>(part.iov_base)},
                                   std::min<uint64_t>(part.iov_len, most - bytes.size()));
    if (!piece) break;
    bytes += *piece;
  }
  return bytes;
}

bool receives(uint32_t number) { return recording::syscall_entry(number).is(recording::kTakesIn); }

bool sends(uint32_t number) { return recording::syscall_entry(number).is(recording::kGivesOut); }

bool only_peeks(const PendingCall& call) {
  switch (call.number()) {
    case SYS_recvfrom:
    case SYS_recvmmsg:
      return call.argument(3) & MSG_PEEK;
    case SYS_recvmsg:
      return call.argument(2) & MSG_PEEK;
    default:
      return false;
  }
}

std::string padded(const PeerAddress& address) {
  std::string bytes = address.is_there() ? address.sockaddr_bytes() : std::string();
  bytes.resize(kAddressRoom);
  return bytes;
}

}  // namespace

std::optional<uint64_t> Outside::inode(const TracedTask& task) const {
  // Of the two descriptors of splice and sendfile, use the one that is written to.
  const int argument = task.call.number() == SYS_splice ? 2 : 0;
  const auto object = task.tracee.object(static_cast<int>(task.call.argument(argument)));
  if (!object || !S_ISSOCK(object->mode)) return std::nullopt;
  return object->inode;
}

// The address in the call; none if the call names none.
PeerAddress Outside::addressed(const TracedTask& task) const {
  const PendingCall& call = task.call;
  uint64_t from = 0, size = 0;
  switch (call.number()) {
    case SYS_connect:
      from = call.argument(1);
      size = call.argument(2);
      break;
    case SYS_sendto:
      from = call.argument(4);
      size = call.argument(5);
      break;
    case SYS_sendmsg:
    case SYS_sendmmsg: {  // the first message represents all
      const auto message = task.tracee.read_as<msghdr>({call.argument(1)});
      if (!message) return {};
      from = reinterpret_cast<uint64_t>(message->msg_name);
      size = message->msg_namelen;
      break;
    }
    default:
      return {};
  }
  if (from == 0 || size == 0) return {};
  const auto bytes =
      task.tracee.read({from}, std::min<uint64_t>(size & 0xffffffff, sizeof(sockaddr_storage)));
  return bytes ? PeerAddress::of(*bytes) : PeerAddress();
}

// Short enough to arrive in one piece when it is played: then it is read in one piece again.
void Outside::read_less(TracedTask& task) const {
  const uint32_t number = task.call.number();
  if (number != SYS_read && number != SYS_recvfrom) return;
  if (task.call.argument(2) <= kOnePiece) return;
  if (number == SYS_recvfrom && (task.call.argument(3) & MSG_WAITALL)) return;
  const auto socket = inode(task);
  const auto known = socket ? sockets_.find(*socket) : sockets_.end();
  if (known != sockets_.end() && !known->second.datagram) task.change_argument(2, kOnePiece);
}

std::optional<int64_t> Outside::entering(TracedTask& task) {
  if (!sockets_.empty()) read_less(task);
  const PeerAddress peer = addressed(task);
  if (const auto postponed = beginning_.find(task.id()); postponed != beginning_.end()) {
    if (postponed->second.peer == peer) return std::nullopt;  // the same call, restarted
    beginning_.erase(postponed);
  }
  if (!peer.is_outside()) return std::nullopt;
  const auto socket = inode(task);
  if (!socket) return std::nullopt;
  const auto known = sockets_.find(*socket);
  if (known != sockets_.end() && (!known->second.datagram || known->second.peer == peer))
    return std::nullopt;
  Begin how{peer, 0};
  if (player_ != nullptr) {
    const PeerPlayer::Choice choice = player_->choose(task.path, peer);
    if (choice.error != 0) {
      how.played = SIZE_MAX;
      beginning_[task.id()] = how;
      return choice.error;
    }
    how.played = choice.conversation;
  }
  beginning_[task.id()] = how;
  return std::nullopt;
}

void Outside::begin(TracedTask& task, const Begin& how, int64_t result) {
  Socket socket;
  socket.number = ++numbers_;
  socket.peer = how.peer;
  socket.played = how.played;
  const ScopedFd own = borrow(task, static_cast<int>(task.call.argument(0)));
  int type = 0;
  socklen_t size = sizeof type;
  if (own.valid() && ::getsockopt(own.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0)
    socket.datagram = type == SOCK_DGRAM;
  const PeerAddress from = own.valid() ? PeerAddress::name_of(own.get()) : PeerAddress();
  attach(task, socket, DEADHEAT_PEER_BEGIN, padded(how.peer) + padded(from), 0);
  if (result < 0 && !goes_on_later(result)) return;
  const auto at = inode(task);
  if (!at) return;
  sockets_[*at] = socket;
  if (player_ != nullptr && how.played != SIZE_MAX) player_->begun(how.played, from);
}

void Outside::attach(TracedTask& task, Socket& socket, uint32_t what, std::string bytes,
                     uint64_t size) {
  if (socket.kept + bytes.size() > kMostKept) {
    bytes.clear();
    not_kept_.insert("peer " + socket.peer.text() + ": what came after 64 MiB was not kept");
  }
  socket.kept += bytes.size();
  const uint32_t flags = socket.datagram ? uint32_t{DEADHEAT_PEER_DATAGRAM} : 0;
  const deadheat_process_peer head{socket.number, size, what, flags};
  task.call.attach(DEADHEAT_ATTACH_PEER, 0,
                   std::string(reinterpret_cast<const char*>(&head), sizeof head) + bytes);
  if (player_ == nullptr) return;
  if (what == DEADHEAT_PEER_RECEIVED) player_->has_read(socket.played, size);
  if (what == DEADHEAT_PEER_NOTHING) player_->found_nothing(socket.played);
}

void Outside::attach_messages(TracedTask& task, Socket& socket, uint32_t what, int64_t result) {
  const PendingCall& call = task.call;
  const auto whole = [&](const msghdr& message, uint64_t most) {
    std::string bytes = gather(task.tracee, message, most);
    // A datagram may have been longer than its buffer.
    const uint64_t size = what == DEADHEAT_PEER_RECEIVED ? bytes.size() : most;
    attach(task, socket, what, std::move(bytes), size);
  };
  iovec part{reinterpret_cast<void*>(call.argument(1)), call.argument(2)};
  msghdr message{};
  switch (call.number()) {
    case SYS_read:
    case SYS_write:
    case SYS_recvfrom:
    case SYS_sendto: {
      auto bytes = task.tracee.read(
          {call.argument(1)}, std::min<uint64_t>(call.argument(2), static_cast<uint64_t>(result)));
      const uint64_t size = bytes ? bytes->size() : static_cast<uint64_t>(result);
      return attach(task, socket, what, bytes ? std::move(*bytes) : "", size);
    }
    case SYS_readv:
    case SYS_writev:
      message.msg_iov = static_cast<iovec*>(part.iov_base);
      message.msg_iovlen = part.iov_len;
      return whole(message, static_cast<uint64_t>(result));
    case SYS_recvmsg:
    case SYS_sendmsg:
      if (const auto one = task.tracee.read_as<msghdr>({call.argument(1)}))
        whole(*one, static_cast<uint64_t>(result));
      return;
    case SYS_recvmmsg:
    case SYS_sendmmsg: {
      const uint64_t count = std::min(static_cast<uint64_t>(result), kMostMessages);
      for (uint64_t i = 0; i < count; i++)
        if (const auto one = task.tracee.read_as<mmsghdr>({call.argument(1) + i * sizeof(mmsghdr)}))
          whole(one->msg_hdr, one->msg_len);
      return;
    }
    default:  // sendfile, splice: the size is known, the content is not
      return attach(task, socket, what, "", static_cast<uint64_t>(result));
  }
}

// The other channels to the outside, which are not played.
void Outside::note_stranger(const TracedTask& task, int64_t result) {
  const uint32_t number = task.call.number();
  if (!host_network_ || result < 0) return;
  if (number == SYS_accept || number == SYS_accept4) {
    const ScopedFd made = borrow(task, static_cast<int>(result));
    const PeerAddress from = made.valid() ? PeerAddress::partner_of(made.get()) : PeerAddress();
    if (from.is_outside()) not_kept_.insert("a connection from " + from.text() + " was not kept");
  } else if (number == SYS_connect) {
    const auto name = task.tracee.read_as<sockaddr_un>({task.call.argument(1)});
    if (!name || name->sun_family != AF_UNIX) return;
    const ScopedFd own = borrow(task, static_cast<int>(task.call.argument(0)));
    ucred other{};
    socklen_t size = sizeof other;
    // Processes of another PID namespace have no number in ours.
    if (own.valid() && ::getsockopt(own.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
        other.pid == 0)
      not_kept_.insert("a connection to a local socket of the machine was not kept");
  }
}

void Outside::leaving(TracedTask& task, int64_t result) {
  const uint32_t number = task.call.number();
  if (number == SYS_connect || number == SYS_accept || number == SYS_accept4)
    note_stranger(task, result);
  if (const auto starts = beginning_.find(task.id()); starts != beginning_.end()) {
    const Begin how = starts->second;
    beginning_.erase(starts);
    begin(task, how, result);
  }
  if (sockets_.empty()) return;
  const bool in = receives(number), out = sends(number);
  if (!in && !out && number != SYS_getsockopt) return;
  const auto at = inode(task);
  const auto found = at ? sockets_.find(*at) : sockets_.end();
  if (found == sockets_.end()) return;
  Socket& socket = found->second;
  if (number == SYS_getsockopt) {
    const bool error = task.call.argument(1) == SOL_SOCKET && task.call.argument(2) == SO_ERROR;
    const int value = error ? task.tracee.read_as<int>({task.call.argument(3)}).value_or(0) : 0;
    if (value > 0) attach(task, socket, DEADHEAT_PEER_FAILED, "", static_cast<uint64_t>(value));
  } else if (in && result == -EAGAIN) {
    attach(task, socket, DEADHEAT_PEER_NOTHING, "", 0);
  } else if (result >= 0 && !only_peeks(task.call)) {
    attach_messages(task, socket, in ? DEADHEAT_PEER_RECEIVED : DEADHEAT_PEER_SENT, result);
  }
}

void Outside::note_waiting(const TracedTask& task) {
  if (player_ == nullptr || sockets_.empty() || !task.in_call || task.held) return;
  std::vector<int> descriptors;
  const uint32_t number = task.call.number();
  if (receives(number)) descriptors.push_back(static_cast<int>(task.call.argument(0)));
  if (number == SYS_poll || number == SYS_ppoll) {
    const uint64_t count = std::min<uint64_t>(task.call.argument(1), kMostMessages);
    for (uint64_t i = 0; i < count; i++)
      if (const auto one =
              task.tracee.read_as<pollfd>({task.call.argument(0) + i * sizeof(pollfd)}))
        descriptors.push_back(one->fd);
  }
  for (const int descriptor : descriptors) {
    const auto object = task.tracee.object(descriptor);
    const auto found = object ? sockets_.find(object->inode) : sockets_.end();
    if (found != sockets_.end()) player_->waits_in_vain(found->second.played);
  }
}

std::vector<std::string> Outside::problems() const {
  return player_ != nullptr ? player_->problems()
                            : std::vector<std::string>(not_kept_.begin(), not_kept_.end());
}

}  // namespace deadheat::process::sources
