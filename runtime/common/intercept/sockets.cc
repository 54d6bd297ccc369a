// Sockets.
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

Thread* who_waits(int flags) { return (flags & MSG_DONTWAIT) != 0 ? nullptr : self(); }

ssize_t received(ssize_t result, Address pc, int fd, const void* buffer, size_t size) {
  if (nothing_to_do()) return result;
  Thread* const thread = self();
  if (thread == nullptr || result < 0) return result;
  const auto got = static_cast<size_t>(result);
  descriptor_used(thread, pc, fd);
  descriptor_received(thread, pc, fd);
  was_written(thread, pc, buffer, got < size ? got : size);  // MSG_TRUNC returns the full size
  return result;
}

// Descriptors received with a message are new under their numbers.
void forget_passed(msghdr* message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const auto* const fds = reinterpret_cast<const int*>(CMSG_DATA(part));
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
    for (size_t i = 0; i < count; ++i) descriptor_forgotten(fds[i]);
  }
}

void received_message(size_t left, Address pc, int fd, msghdr* message) {
  Thread* const thread = self();
  if (thread == nullptr) return;
  descriptor_used(thread, pc, fd);
  descriptor_received(thread, pc, fd);
  for (size_t i = 0; i < message->msg_iovlen && left > 0; ++i) {
    const size_t size = message->msg_iov[i].iov_len < left ? message->msg_iov[i].iov_len : left;
    was_written(thread, pc, message->msg_iov[i].iov_base, size);
    left -= size;
  }
  if (message->msg_control != nullptr && message->msg_controllen > 0) forget_passed(message);
}

int accepted(int result, Address pc, int fd) {
  Thread* const thread = self();
  if (thread == nullptr || result < 0) return result;
  descriptor_used(thread, pc, fd);
  on_happens_after(thread, pc, sockets_object());
  return result;
}

}  // namespace

INTERCEPT(int, socketpair, (int domain, int type, int protocol, int* ends)) {
  const int result = REAL(socketpair)(domain, type, protocol, ends);
  if (result == 0) {
    descriptors_paired(ends[0], ends[1]);
    was_written(self(), CALLER, ends, 2 * sizeof *ends);
  }
  return result;
}

INTERCEPT(int, connect, (int fd, const sockaddr* address, socklen_t size)) {
  // For a local socket, connect waits only for room in the queue.
  const bool nearby = address != nullptr && address->sa_family == AF_UNIX;
  const Outside outside(nearby ? nullptr : self(), CALLER, "connect");
  was_read(self(), CALLER, address, size);
  descriptor_publishes(self(), CALLER, fd);
  const int result = REAL(connect)(fd, address, size);
  if (result == 0) descriptor_received(self(), CALLER, fd);
  return result;
}

INTERCEPT(int, accept, (int fd, sockaddr* address, socklen_t* size)) {
  const Outside outside(self(), CALLER, "accept", fd, POLLIN);
  return accepted(REAL(accept)(fd, address, size), CALLER, fd);
}

INTERCEPT(int, accept4, (int fd, sockaddr* address, socklen_t* size, int flags)) {
  const Outside outside(self(), CALLER, "accept4", fd, POLLIN);
  return accepted(REAL(accept4)(fd, address, size, flags), CALLER, fd);
}

INTERCEPT(int, listen, (int fd, int backlog)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(listen)(fd, backlog);
}

INTERCEPT(int, shutdown, (int fd, int how)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(shutdown)(fd, how);
}

INTERCEPT(ssize_t, send, (int fd, const void* buffer, size_t size, int flags)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(send)(fd, buffer, size, flags), buffer);
}

INTERCEPT(ssize_t, sendto,
          (int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
           socklen_t to_size)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(sendto)(fd, buffer, size, flags, to, to_size), buffer);
}

INTERCEPT(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  const iovec* const parts = message == nullptr ? nullptr : message->msg_iov;
  Sending sending(CALLER, fd, parts, parts == nullptr ? 0 : message->msg_iovlen);
  const ssize_t result = REAL(sendmsg)(fd, message, flags);
  return result < 0 ? result : sending.took(result, message->msg_iov, message->msg_iovlen);
}

INTERCEPT(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags)) {
  Sending sending(CALLER, fd);
  const int result = REAL(sendmmsg)(fd, messages, count, flags);
  for (int i = 0; i < result; ++i)
    sending.took(messages[i].msg_len, messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen);
  return result;
}

INTERCEPT(ssize_t, recv, (int fd, void* buffer, size_t size, int flags)) {
  const Outside outside(who_waits(flags), CALLER, "recv", fd, POLLIN);
  return received(REAL(recv)(fd, buffer, size, flags), CALLER, fd, buffer, size);
}

INTERCEPT(ssize_t, __recv_chk, (int fd, void* buffer, size_t size, size_t room, int flags)) {
  const Outside outside(who_waits(flags), CALLER, "recv", fd, POLLIN);
  return received(REAL(__recv_chk)(fd, buffer, size, room, flags), CALLER, fd, buffer, size);
}

INTERCEPT(ssize_t, recvfrom,
          (int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* from_size)) {
  const Outside outside(who_waits(flags), CALLER, "recvfrom", fd, POLLIN);
  return received(REAL(recvfrom)(fd, buffer, size, flags, from, from_size), CALLER, fd, buffer,
                  size);
}

INTERCEPT(ssize_t, __recvfrom_chk,
          (int fd, void* buffer, size_t size, size_t room, int flags, sockaddr* from,
           socklen_t* from_size)) {
  const Outside outside(who_waits(flags), CALLER, "recvfrom", fd, POLLIN);
  return received(REAL(__recvfrom_chk)(fd, buffer, size, room, flags, from, from_size), CALLER, fd,
                  buffer, size);
}

INTERCEPT(ssize_t, recvmsg, (int fd, msghdr* message, int flags)) {
  const Outside outside(who_waits(flags), CALLER, "recvmsg", fd, POLLIN);
  const ssize_t result = REAL(recvmsg)(fd, message, flags);
  if (result >= 0) received_message(static_cast<size_t>(result), CALLER, fd, message);
  return result;
}

INTERCEPT(int, recvmmsg,
          (int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout)) {
  const Outside outside(who_waits(flags), CALLER, "recvmmsg", fd, POLLIN);
  const int result = REAL(recvmmsg)(fd, messages, count, flags, timeout);
  for (int i = 0; i < result; ++i)
    received_message(messages[i].msg_len, CALLER, fd, &messages[i].msg_hdr);
  return result;
}

}  // namespace deadheat::runtime
