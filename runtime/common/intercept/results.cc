// Functions that fill a structure or a buffer of their caller's: the writes are the caller's.
#include <dirent.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

template <typename T>
inline void filled(Address pc, T* result) {
  if (result != nullptr) was_written(self(), pc, result, sizeof *result);
}

}  // namespace

namespace {

bool virtual_time(clockid_t clock, timespec* time) {
  return &mode_clock != nullptr && mode_clock(clock, time);
}

}  // namespace

INTERCEPT(int, clock_gettime, (clockid_t clock, timespec* time)) {
  const int result = virtual_time(clock, time) ? 0 : REAL(clock_gettime)(clock, time);
  if (result == 0) filled(CALLER, time);
  return result;
}

INTERCEPT(int, gettimeofday, (timeval * time, void* zone)) {
  timespec now;
  if (time != nullptr && virtual_time(CLOCK_REALTIME, &now)) {
    *time = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
  }
  const int result = REAL(gettimeofday)(time, zone);
  if (result == 0) filled(CALLER, time);
  return result;
}

INTERCEPT(time_t, time, (time_t* seconds)) {
  timespec now;
  if (virtual_time(CLOCK_REALTIME, &now)) {
    if (seconds != nullptr) *seconds = now.tv_sec;
    return now.tv_sec;
  }
  const time_t result = REAL(time)(seconds);
  filled(CALLER, seconds);
  return result;
}

INTERCEPT(tm*, localtime_r, (const time_t* seconds, tm* parts)) {
  was_read(self(), CALLER, seconds, sizeof *seconds);
  tm* const result = REAL(localtime_r)(seconds, parts);
  filled(CALLER, result);
  return result;
}

INTERCEPT(tm*, gmtime_r, (const time_t* seconds, tm* parts)) {
  was_read(self(), CALLER, seconds, sizeof *seconds);
  tm* const result = REAL(gmtime_r)(seconds, parts);
  filled(CALLER, result);
  return result;
}

INTERCEPT(int, fstat, (int fd, struct stat* status)) {
  const int result = REAL(fstat)(fd, status);
  if (result == 0) filled(CALLER, status);
  return result;
}

INTERCEPT(pid_t, wait, (int* status)) {
  const pid_t result = REAL(wait)(status);
  if (result > 0) filled(CALLER, status);
  return result;
}

INTERCEPT(pid_t, waitpid, (pid_t child, int* status, int options)) {
  const pid_t result = REAL(waitpid)(child, status, options);
  if (result > 0) filled(CALLER, status);
  return result;
}

INTERCEPT(int, getrusage, (int who, rusage* usage)) {
  const int result = REAL(getrusage)(who, usage);
  if (result == 0) filled(CALLER, usage);
  return result;
}

INTERCEPT(char*, getcwd, (char* path, size_t room)) {
  char* const result = REAL(getcwd)(path, room);
  if (result != nullptr && path != nullptr) {
    size_t size = 0;
    while (path[size] != '\0') ++size;
    was_written(self(), CALLER, path, size + 1);
  }
  return result;
}

INTERCEPT(ssize_t, readlink, (const char* path, char* to, size_t room)) {
  const ssize_t result = REAL(readlink)(path, to, room);
  if (result > 0) was_written(self(), CALLER, to, static_cast<size_t>(result));
  return result;
}

INTERCEPT(int, gethostname, (char* name, size_t room)) {
  const int result = REAL(gethostname)(name, room);
  if (result == 0) {
    size_t size = 0;
    while (size < room && name[size] != '\0') ++size;
    was_written(self(), CALLER, name, size < room ? size + 1 : size);
  }
  return result;
}

// Only `revents` is written: others may look at what the caller asked for.
INTERCEPT(int, poll, (pollfd * descriptors, nfds_t count, int timeout)) {
  const Outside outside(timeout == 0 ? nullptr : self(), CALLER, "poll");
  const int result = REAL(poll)(descriptors, count, timeout);
  if (result < 0 || self() == nullptr || !is_instrumented(CALLER)) return result;
  for (nfds_t i = 0; i < count; ++i) {
    was_read(self(), CALLER, &descriptors[i], offsetof(pollfd, revents));
    filled(CALLER, &descriptors[i].revents);
  }
  return result;
}

}  // namespace deadheat::runtime
