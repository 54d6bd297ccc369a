// Descriptors that become ready without a write to them: inotify by changes of files and
// names, signalfd by signals (signals.cc), timerfd by being set. All inotify descriptors share one
// object, and what they watch is not looked at: this can hide a race, never invent one.
#include <sys/inotify.h>
#include <sys/timerfd.h>

#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

uint64_t watches;  // its address is the object
bool watching;

int begins(int fd) {
  if (fd < 0) return fd;
  __atomic_store_n(&watching, true, __ATOMIC_RELAXED);
  descriptor_stands_for(fd, address_of(&watches));
  return fd;
}

}  // namespace

Address watched_files_object() {
  return __atomic_load_n(&watching, __ATOMIC_RELAXED) ? address_of(&watches) : 0;
}

INTERCEPT(int, inotify_init, ()) { return begins(REAL(inotify_init)()); }
INTERCEPT(int, inotify_init1, (int flags)) { return begins(REAL(inotify_init1)(flags)); }

INTERCEPT(int, timerfd_settime, (int fd, int flags, const itimerspec* time, itimerspec* old)) {
  descriptor_publishes(self(), CALLER, fd);
  return REAL(timerfd_settime)(fd, flags, time, old);
}

}  // namespace deadheat::runtime
