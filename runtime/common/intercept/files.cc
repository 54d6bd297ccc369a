// Reading, writing, copying and closing descriptors.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"
#include "runtime/common/intercept/file_locks.h"
#include "runtime/common/intercept/readiness.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

template <typename Count>
Count received(Count result, Address pc, int fd, const void* buffer) {
  if (nothing_to_do()) return result;
  Thread* const thread = self();
  if (thread == nullptr || result < 0) return result;
  const int saved = errno;
  descriptor_used(thread, pc, fd);
  descriptor_received(thread, pc, fd);
  was_written(thread, pc, buffer, static_cast<size_t>(result));
  errno = saved;
  return result;
}

ssize_t received_parts(ssize_t result, Address pc, int fd, const iovec* parts, int count) {
  if (nothing_to_do()) return result;
  Thread* const thread = self();
  if (thread == nullptr || result < 0) return result;
  descriptor_used(thread, pc, fd);
  descriptor_received(thread, pc, fd);
  auto left = static_cast<size_t>(result);
  for (int i = 0; i < count && left > 0; ++i) {
    const size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
    was_written(thread, pc, parts[i].iov_base, size);
    left -= size;
  }
  return result;
}

// Before a call that takes from one descriptor and gives to another: who receives from `to` comes
// after what was sent to `from`. What is sent while the call waits for it is published to `from`
// only: so from the first such call on all output is ordered before all later input (relatives.cc).
// A regular file has nothing to wait for; a write to it during the call itself is missed.
void passes_on(Address pc, int from, int to) {
  if (nothing_to_do() || self() == nullptr) return;
  if (!is_file_object(descriptor_object(from))) makes_relatives();
  descriptor_received(self(), pc, from);
  descriptor_publishes(self(), pc, to);
}

size_t parts_of(int count) { return count > 0 ? static_cast<size_t>(count) : 0; }

uint64_t timeout_ns(int timeout_ms) {
  return timeout_ms < 0 ? kForever : static_cast<uint64_t>(timeout_ms) * 1'000'000;
}

int events_came(int count, Address pc, int epoll, const epoll_event* events) {
  descriptor_received(self(), pc, epoll);
  for (int i = 0; i < count; ++i)
    if (has_news(events[i].events)) watched_is_ready(pc, epoll, events[i].data.u64);
  was_written(self(), pc, events, static_cast<size_t>(count) * sizeof *events);
  return count;
}

// When a mode schedules, it waits for the events, and the call itself (`real(false)`) does not
// wait; it retries if another waiting thread has taken them.
template <typename Real>
int await_events(Address pc, const char* name, int epoll, const epoll_event* events,
                 uint64_t limit_ns, Real real) {
  if (in_production()) {
    const int count = real(true);
    return count <= 0 || nothing_to_do() ? count : events_came(count, pc, epoll, events);
  }
  Thread* const thread = limit_ns == 0 ? nullptr : self();
  uint64_t deadline_ns = limit_ns;
  if (scheduled(thread) && limit_ns != kForever) deadline_ns += mode_deadline(-1, nullptr);
  for (;;) {
    const Outside outside(thread, pc, name, epoll, POLLIN, deadline_ns);
    if (outside.waited() && outside.woken() == Woken::kInterrupted) {
      errno = EINTR;
      return -1;
    }
    const int count = real(!outside.waited());
    if (count == 0 && outside.waited() && outside.woken() == Woken::kReleased) continue;
    return count > 0 ? events_came(count, pc, epoll, events) : count;
  }
}

}  // namespace

INTERCEPT(ssize_t, read, (int fd, void* buffer, size_t size)) {
  const Outside outside(self(), CALLER, "read", fd, POLLIN);
  return received(REAL(read)(fd, buffer, size), CALLER, fd, buffer);
}

INTERCEPT(ssize_t, __read, (int fd, void* buffer, size_t size)) {
  const Outside outside(self(), CALLER, "read", fd, POLLIN);
  return received(REAL(__read)(fd, buffer, size), CALLER, fd, buffer);
}

INTERCEPT(ssize_t, __read_chk, (int fd, void* buffer, size_t size, size_t room)) {
  const Outside outside(self(), CALLER, "read", fd, POLLIN);
  return received(REAL(__read_chk)(fd, buffer, size, room), CALLER, fd, buffer);
}

INTERCEPT(ssize_t, pread, (int fd, void* buffer, size_t size, off_t at)) {
  return received(REAL(pread)(fd, buffer, size, at), CALLER, fd, buffer);
}

INTERCEPT(ssize_t, pread64, (int fd, void* buffer, size_t size, off64_t at)) {
  return received(REAL(pread64)(fd, buffer, size, at), CALLER, fd, buffer);
}

INTERCEPT(ssize_t, write, (int fd, const void* buffer, size_t size)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(write)(fd, buffer, size), buffer);
}

INTERCEPT(ssize_t, __write, (int fd, const void* buffer, size_t size)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(__write)(fd, buffer, size), buffer);
}

INTERCEPT(ssize_t, pwrite, (int fd, const void* buffer, size_t size, off_t at)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(pwrite)(fd, buffer, size, at), buffer);
}

INTERCEPT(ssize_t, pwrite64, (int fd, const void* buffer, size_t size, off64_t at)) {
  Sending sending(CALLER, fd, buffer, size);
  return sending.took(REAL(pwrite64)(fd, buffer, size, at), buffer);
}

INTERCEPT(ssize_t, readv, (int fd, const iovec* parts, int count)) {
  const Outside outside(self(), CALLER, "readv", fd, POLLIN);
  return received_parts(REAL(readv)(fd, parts, count), CALLER, fd, parts, count);
}

INTERCEPT(ssize_t, preadv, (int fd, const iovec* parts, int count, off_t at)) {
  return received_parts(REAL(preadv)(fd, parts, count, at), CALLER, fd, parts, count);
}

INTERCEPT(ssize_t, preadv64, (int fd, const iovec* parts, int count, off64_t at)) {
  return received_parts(REAL(preadv64)(fd, parts, count, at), CALLER, fd, parts, count);
}

INTERCEPT(ssize_t, writev, (int fd, const iovec* parts, int count)) {
  Sending sending(CALLER, fd, parts, parts_of(count));
  return sending.took(REAL(writev)(fd, parts, count), parts, static_cast<size_t>(count));
}

INTERCEPT(ssize_t, pwritev, (int fd, const iovec* parts, int count, off_t at)) {
  Sending sending(CALLER, fd, parts, parts_of(count));
  return sending.took(REAL(pwritev)(fd, parts, count, at), parts, static_cast<size_t>(count));
}

INTERCEPT(ssize_t, pwritev64, (int fd, const iovec* parts, int count, off64_t at)) {
  Sending sending(CALLER, fd, parts, parts_of(count));
  return sending.took(REAL(pwritev64)(fd, parts, count, at), parts, static_cast<size_t>(count));
}

INTERCEPT(ssize_t, preadv2, (int fd, const iovec* parts, int count, off_t at, int flags)) {
  const Outside outside(at == -1 ? self() : nullptr, CALLER, "preadv2", fd, POLLIN);
  return received_parts(REAL(preadv2)(fd, parts, count, at, flags), CALLER, fd, parts, count);
}

INTERCEPT(ssize_t, preadv64v2, (int fd, const iovec* parts, int count, off64_t at, int flags)) {
  const Outside outside(at == -1 ? self() : nullptr, CALLER, "preadv2", fd, POLLIN);
  return received_parts(REAL(preadv64v2)(fd, parts, count, at, flags), CALLER, fd, parts, count);
}

INTERCEPT(ssize_t, pwritev2, (int fd, const iovec* parts, int count, off_t at, int flags)) {
  Sending sending(CALLER, fd, parts, parts_of(count));
  return sending.took(REAL(pwritev2)(fd, parts, count, at, flags), parts,
                      static_cast<size_t>(count));
}

INTERCEPT(ssize_t, pwritev64v2, (int fd, const iovec* parts, int count, off64_t at, int flags)) {
  Sending sending(CALLER, fd, parts, parts_of(count));
  return sending.took(REAL(pwritev64v2)(fd, parts, count, at, flags), parts,
                      static_cast<size_t>(count));
}

#define SENDFILE(name, offset)                                              \
  INTERCEPT(ssize_t, name, (int to, int from, offset* at, size_t size)) {   \
    passes_on(CALLER, from, to);                                            \
    return received(REAL(name)(to, from, at, size), CALLER, from, nullptr); \
  }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)
#undef SENDFILE

INTERCEPT(ssize_t, copy_file_range,
          (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags)) {
  passes_on(CALLER, from, to);
  return received(REAL(copy_file_range)(from, from_at, to, to_at, size, flags), CALLER, from,
                  nullptr);
}

INTERCEPT(ssize_t, tee, (int from, int to, size_t size, unsigned flags)) {
  passes_on(CALLER, from, to);
  return received(REAL(tee)(from, to, size, flags), CALLER, from, nullptr);
}

INTERCEPT(ssize_t, vmsplice, (int fd, const iovec* parts, size_t count, unsigned flags)) {
  Sending sending(CALLER, fd, parts, count);
  return sending.took(REAL(vmsplice)(fd, parts, count, flags), parts, count);
}

// The size and the times of a file are news as its bytes are.
INTERCEPT(int, fstat, (int fd, struct stat* status)) {
  const int result = REAL(fstat)(fd, status);
  if (result != 0) return result;
  descriptor_received(self(), CALLER, fd);
  was_written(self(), CALLER, status, sizeof *status);
  return result;
}

INTERCEPT(int, ftruncate, (int fd, off_t size)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(ftruncate)(fd, size);
}

INTERCEPT(int, ftruncate64, (int fd, off64_t size)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(ftruncate64)(fd, size);
}

INTERCEPT(int, fchmod, (int fd, mode_t mode)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(fchmod)(fd, mode);
}

INTERCEPT(ssize_t, splice,
          (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags)) {
  passes_on(CALLER, from, to);
  const ssize_t result = REAL(splice)(from, from_at, to, to_at, size, flags);
  if (result >= 0) descriptor_received(self(), CALLER, from);
  return result;
}

INTERCEPT(int, eventfd_write, (int fd, eventfd_t value)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(eventfd_write)(fd, value);
}

INTERCEPT(int, eventfd_read, (int fd, eventfd_t* value)) {
  const int result = REAL(eventfd_read)(fd, value);
  if (result == 0) {
    descriptor_received(self(), CALLER, fd);
    was_written(self(), CALLER, value, sizeof *value);
  }
  return result;
}

// Everything before a descriptor is added or changed happens before its events are received.
INTERCEPT(int, epoll_ctl, (int epoll, int operation, int fd, epoll_event* event)) {
  if (event != nullptr) was_read(self(), CALLER, event, sizeof *event);
  descriptor_publishes(self(), CALLER, epoll);
  if (event != nullptr && operation != EPOLL_CTL_DEL) watch_begins(epoll, fd, event->data.u64);
  return REAL(epoll_ctl)(epoll, operation, fd, event);
}

INTERCEPT(int, epoll_wait, (int epoll, epoll_event* events, int room, int timeout)) {
  return await_events(CALLER, "epoll_wait", epoll, events, timeout_ns(timeout), [&](bool blocks) {
    return REAL(epoll_wait)(epoll, events, room, blocks ? timeout : 0);
  });
}

INTERCEPT(int, epoll_pwait,
          (int epoll, epoll_event* events, int room, int timeout, const sigset_t* mask)) {
  return await_events(CALLER, "epoll_pwait", epoll, events, timeout_ns(timeout), [&](bool blocks) {
    return REAL(epoll_pwait)(epoll, events, room, blocks ? timeout : 0, mask);
  });
}

INTERCEPT(int, epoll_pwait2,
          (int epoll, epoll_event* events, int room, const timespec* timeout,
           const sigset_t* mask)) {
  static constexpr timespec kNow = {};
  const uint64_t limit_ns = timeout == nullptr
                                ? kForever
                                : static_cast<uint64_t>(timeout->tv_sec) * 1'000'000'000 +
                                      static_cast<uint64_t>(timeout->tv_nsec);
  return await_events(CALLER, "epoll_pwait2", epoll, events, limit_ns, [&](bool blocks) {
    return REAL(epoll_pwait2)(epoll, events, room, blocks ? timeout : &kNow, mask);
  });
}

INTERCEPT(int, pipe, (int* ends)) {
  const int result = REAL(pipe)(ends);
  if (result == 0) was_written(self(), CALLER, ends, 2 * sizeof *ends);
  return result;
}

INTERCEPT(int, pipe2, (int* ends, int flags)) {
  const int result = REAL(pipe2)(ends, flags);
  if (result == 0) was_written(self(), CALLER, ends, 2 * sizeof *ends);
  return result;
}

INTERCEPT(int, dup, (int fd)) {
  descriptor_used(self(), CALLER, fd);
  const int result = REAL(dup)(fd);
  if (result >= 0) descriptor_copied(fd, result);
  return result;
}

INTERCEPT(int, dup2, (int from, int to)) {
  descriptor_used(self(), CALLER, from);
  if (from != to && system_call(SYS_fcntl, to, F_GETFD) >= 0)
    descriptor_replaced(self(), CALLER, to);
  const int result = REAL(dup2)(from, to);
  if (result >= 0 && from != to) descriptor_copied(from, result);
  return result;
}

INTERCEPT(int, dup3, (int from, int to, int flags)) {
  descriptor_used(self(), CALLER, from);
  if (from != to && system_call(SYS_fcntl, to, F_GETFD) >= 0)
    descriptor_replaced(self(), CALLER, to);
  const int result = REAL(dup3)(from, to, flags);
  if (result >= 0) descriptor_copied(from, result);
  return result;
}

#define FCNTL(name)                                                                   \
  INTERCEPT(int, name, (int fd, int command, long argument)) {                        \
    if (is_lock_command(command)) before_file_lock(CALLER, fd);                       \
    const Outside outside(waits_for_lock(command) ? self() : nullptr, CALLER, #name); \
    const int result = REAL(name)(fd, command, argument);                             \
    if (is_lock_command(command)) after_file_lock(CALLER, fd, result);                \
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))            \
      descriptor_copied(fd, result);                                                  \
    return result;                                                                    \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
#undef FCNTL

INTERCEPT(int, close, (int fd)) {
  descriptor_closes(self(), CALLER, fd);
  return REAL(close)(fd);
}

INTERCEPT(int, __close, (int fd)) {
  descriptor_closes(self(), CALLER, fd);
  return REAL(__close)(fd);
}

INTERCEPT(int, close_range, (unsigned first, unsigned last, int flags)) {
  constexpr unsigned kHighest = (1 << 16) - 1;
  for (unsigned fd = first; flags == 0 && fd <= last && fd <= kHighest; ++fd)
    descriptor_forgotten(static_cast<int>(fd));
  return REAL(close_range)(first, last, flags);
}

INTERCEPT(void, closefrom, (int first)) {
  for (int fd = first < 0 ? 0 : first; fd < 1 << 16; ++fd) descriptor_forgotten(fd);
  REAL(closefrom)(first);
}

}  // namespace deadheat::runtime
