// Other processes that this one made, or that made it: what it tells them may come back to another
// thread through them. What they do is not seen, so nothing is known of which way it went: from the
// first fork or spawn on, all that goes out (pipes, files, names, signals to others) comes before
// all that comes in later (the same, and the end of a child). This can hide a race, never invent
// one. Sockets do so without relatives: their other end may be anywhere.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

namespace {

bool relatives;

void told_by_child(Address pc) {
  if (self() != nullptr) on_happens_after(self(), pc, sockets_object());
}

template <typename Result>
Result ended(Result child, Address pc, const int* status) {
  if (child <= 0) return child;
  told_by_child(pc);
  if (status != nullptr) was_written(self(), pc, status, sizeof *status);
  return child;
}

}  // namespace

bool has_relatives() { return __atomic_load_n(&relatives, __ATOMIC_RELAXED); }

void makes_relatives() {
  __atomic_store_n(&relatives, true, __ATOMIC_RELAXED);
  if (self() != nullptr) on_happens_before(self(), CALLER, sockets_object());
}

INTERCEPT(pid_t, wait, (int* status)) {
  const Outside outside(self(), CALLER, "wait");
  return ended(REAL(wait)(status), CALLER, status);
}

INTERCEPT(pid_t, waitpid, (pid_t child, int* status, int options)) {
  const Outside outside((options & WNOHANG) != 0 ? nullptr : self(), CALLER, "waitpid");
  return ended(REAL(waitpid)(child, status, options), CALLER, status);
}

INTERCEPT(pid_t, wait3, (int* status, int options, rusage* usage)) {
  const Outside outside((options & WNOHANG) != 0 ? nullptr : self(), CALLER, "wait3");
  return ended(REAL(wait3)(status, options, usage), CALLER, status);
}

INTERCEPT(pid_t, wait4, (pid_t child, int* status, int options, rusage* usage)) {
  const Outside outside((options & WNOHANG) != 0 ? nullptr : self(), CALLER, "wait4");
  return ended(REAL(wait4)(child, status, options, usage), CALLER, status);
}

INTERCEPT(int, waitid, (idtype_t kind, id_t id, siginfo_t* info, int options)) {
  const Outside outside((options & WNOHANG) != 0 ? nullptr : self(), CALLER, "waitid");
  const int result = REAL(waitid)(kind, id, info, options);
  if (result == 0) told_by_child(CALLER);
  return result;
}

#define SPAWN(name)                                                                              \
  INTERCEPT(                                                                                     \
      int, name,                                                                                 \
      (pid_t * child, const char* file, const posix_spawn_file_actions_t* actions,               \
       const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment)) { \
    makes_relatives();                                                                           \
    return REAL(name)(child, file, actions, attributes, arguments, environment);                 \
  }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
#undef SPAWN

INTERCEPT(int, system, (const char* command)) {
  makes_relatives();
  const Outside outside(self(), CALLER, "system");
  const int result = REAL(system)(command);
  const int saved = errno;
  told_by_child(CALLER);
  errno = saved;
  return result;
}

INTERCEPT(FILE*, popen, (const char* command, const char* mode)) {
  makes_relatives();
  return REAL(popen)(command, mode);
}

}  // namespace deadheat::runtime
