// Waiting until a descriptor is ready. Readiness for reading comes from the write, and so
// orders even if the bytes are never read: an event loop that an eventfd wakes with EPOLLET never
// reads them. Readiness for writing orders nothing.
#include "runtime/common/intercept/readiness.h"

#include <poll.h>
#include <sys/select.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

// What an epoll descriptor says of a ready one is the word that the program gave with it. The
// object is found by both; if too many fall together the oldest loses its place, and its edge.
struct Watched {
  uint64_t key;
  Address object;
};
constexpr size_t kWatched = 1 << 14, kProbes = 8;
Watched watched[kWatched];

uint64_t key_of(Address epoll, uint64_t data) {
  const uint64_t mixed = (epoll ^ data * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  return (mixed ^ mixed >> 31) | 1;
}

Watched& place_of(uint64_t key, size_t probe) { return watched[((key >> 1) + probe) % kWatched]; }

void received(Address pc, Address object) {
  if (object != 0 && self() != nullptr) object_received(self(), pc, object);
}

// Only `revents` is written: others may look at what the caller asked for.
int polled(int result, Address pc, const pollfd* descriptors, nfds_t count) {
  if (result < 0 || nothing_to_do() || self() == nullptr) return result;
  for (nfds_t i = 0; i < count; ++i) {
    was_read(self(), pc, &descriptors[i], offsetof(pollfd, revents));
    was_written(self(), pc, &descriptors[i].revents, sizeof descriptors[i].revents);
    if (has_news(static_cast<unsigned short>(descriptors[i].revents)))
      descriptor_received(self(), pc, descriptors[i].fd);
  }
  return result;
}

int selected(int result, Address pc, int count, const fd_set* readable, const fd_set* exceptional) {
  if (result <= 0 || nothing_to_do() || self() == nullptr) return result;
  for (int fd = 0; fd < count && fd < FD_SETSIZE; ++fd)
    if ((readable != nullptr && FD_ISSET(fd, readable)) ||
        (exceptional != nullptr && FD_ISSET(fd, exceptional)))
      descriptor_received(self(), pc, fd);
  return result;
}

bool is_zero(const timespec* time) {
  return time != nullptr && time->tv_sec == 0 && time->tv_nsec == 0;
}

}  // namespace

bool has_news(uint32_t events) { return (events & ~(POLLOUT | POLLWRNORM | POLLNVAL)) != 0; }

void watch_begins(int epoll, int fd, uint64_t data) {
  const Address object = descriptor_object(fd), set = descriptor_object(epoll);
  if (object == 0 || set == 0) return;
  const uint64_t key = key_of(set, data);
  size_t probe = 0;
  while (probe < kProbes) {
    const uint64_t found = __atomic_load_n(&place_of(key, probe).key, __ATOMIC_RELAXED);
    if (found == 0 || found == key) break;
    ++probe;
  }
  Watched& place = place_of(key, probe == kProbes ? 0 : probe);
  __atomic_store_n(&place.key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&place.object, object, __ATOMIC_RELAXED);
}

void watched_is_ready(Address pc, int epoll, uint64_t data) {
  const uint64_t key = key_of(descriptor_object(epoll), data);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Watched& place = place_of(key, probe);
    if (__atomic_load_n(&place.key, __ATOMIC_RELAXED) == key)
      return received(pc, __atomic_load_n(&place.object, __ATOMIC_RELAXED));
  }
}

INTERCEPT(int, poll, (pollfd * descriptors, nfds_t count, int timeout)) {
  const Outside outside(timeout == 0 ? nullptr : self(), CALLER, "poll");
  return polled(REAL(poll)(descriptors, count, timeout), CALLER, descriptors, count);
}

INTERCEPT(int, __poll_chk, (pollfd * descriptors, nfds_t count, int timeout, size_t room)) {
  const Outside outside(timeout == 0 ? nullptr : self(), CALLER, "poll");
  return polled(REAL(__poll_chk)(descriptors, count, timeout, room), CALLER, descriptors, count);
}

INTERCEPT(int, ppoll,
          (pollfd * descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask)) {
  const Outside outside(is_zero(timeout) ? nullptr : self(), CALLER, "ppoll");
  return polled(REAL(ppoll)(descriptors, count, timeout, mask), CALLER, descriptors, count);
}

INTERCEPT(int, __ppoll_chk,
          (pollfd * descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask,
           size_t room)) {
  const Outside outside(is_zero(timeout) ? nullptr : self(), CALLER, "ppoll");
  return polled(REAL(__ppoll_chk)(descriptors, count, timeout, mask, room), CALLER, descriptors,
                count);
}

INTERCEPT(int, select,
          (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout)) {
  const bool waits = timeout == nullptr || timeout->tv_sec != 0 || timeout->tv_usec != 0;
  const Outside outside(waits ? self() : nullptr, CALLER, "select");
  return selected(REAL(select)(count, readable, writable, exceptional, timeout), CALLER, count,
                  readable, exceptional);
}

INTERCEPT(int, pselect,
          (int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
           const timespec* timeout, const sigset_t* mask)) {
  const Outside outside(is_zero(timeout) ? nullptr : self(), CALLER, "pselect");
  return selected(REAL(pselect)(count, readable, writable, exceptional, timeout, mask), CALLER,
                  count, readable, exceptional);
}

}  // namespace deadheat::runtime
