// Functions that fill a structure or a buffer of their caller's: the writes are the caller's.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

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

INTERCEPT(int, gethostname, (char* name, size_t room)) {
  const int result = REAL(gethostname)(name, room);
  if (result == 0) {
    size_t size = 0;
    while (size < room && name[size] != '\0') ++size;
    was_written(self(), CALLER, name, size < room ? size + 1 : size);
  }
  return result;
}

}  // namespace deadheat::runtime
