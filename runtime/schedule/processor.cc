// All threads on one processor: only one runs at a time, and handing over is several times faster
// there. The program still sees all its processors, so that it creates as many threads as usual.
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"
#include "runtime/schedule/schedule.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

cpu_set_t before;
bool pinned;

}  // namespace

void pin_to_processor() {
  if (system_call(SYS_sched_getaffinity, 0, sizeof before, reinterpret_cast<long>(&before)) <= 0)
    return;
  unsigned current = 0;
  if (trial().cpu >= 0) {
    current = static_cast<unsigned>(trial().cpu);
  } else if (system_call(SYS_getcpu, reinterpret_cast<long>(&current)) != 0) {
    return;
  }
  if (current >= CPU_SETSIZE || !CPU_ISSET(current, &before)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(current, &one);
  pinned = system_call(SYS_sched_setaffinity, 0, sizeof one, reinterpret_cast<long>(&one)) == 0;
}

INTERCEPT(int, sched_getaffinity, (pid_t task, size_t size, cpu_set_t* set)) {
  if (!pinned) return REAL(sched_getaffinity)(task, size, set);
  if (size < sizeof before) {
    errno = EINVAL;
    return -1;
  }
  memset(set, 0, size);
  memcpy(set, &before, sizeof before);
  return 0;
}

INTERCEPT(int, pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t* set)) {
  if (!pinned) return REAL(pthread_getaffinity_np)(thread, size, set);
  if (size < sizeof before) return EINVAL;
  memset(set, 0, size);
  memcpy(set, &before, sizeof before);
  return 0;
}

// A program that pins its threads would move them to different processors.
INTERCEPT(int, sched_setaffinity, (pid_t task, size_t size, const cpu_set_t* set)) {
  return pinned ? 0 : REAL(sched_setaffinity)(task, size, set);
}

INTERCEPT(int, pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t* set)) {
  return pinned ? 0 : REAL(pthread_setaffinity_np)(thread, size, set);
}

}  // namespace deadheat::runtime
