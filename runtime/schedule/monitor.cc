// Watches the baton. Its holder may sleep in the kernel (code that we do not see waits for
// somebody), or run for long without a point (it spins on something whose accesses are switched
// off): then another may run beside it. Not repeatable, so it is counted.
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/print.h"
#include "runtime/schedule/strategy.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, pthread_create,
              (pthread_t * name, const pthread_attr_t* attributes, void* (*routine)(void*),
               void* argument))
REAL_FUNCTION(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old))

namespace {

constexpr long kLookEvery_ms = 10;
constexpr int kSleepingLooks = 3;
constexpr int kSpinningLooks = 20;

bool started;

// As the kernel sees it: R, S, D, ...
char state_of(uint32_t kernel_id) {
  TextBuffer<64> path;
  path << "/proc/self/task/";
  path.decimal(kernel_id) << "/stat";
  const int fd = open_file(path.c_str(), O_RDONLY);
  if (fd < 0) return '?';
  char text[256];
  const long size = read_file(fd, text, sizeof text - 1);
  close_file(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* const name_end = strrchr(text, ')');
  return name_end == nullptr ? '?' : name_end[2];
}

bool others_wait(const Thread& running) {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread == &running) continue;
    if (thread->state == State::kReady ||
        (thread->state == State::kBlocked &&
         (thread->deadline_ns != kForever || (thread->fd >= 0 && is_readable(*thread)))))
      return true;
  }
  return false;
}

void run_beside(Thread& running, bool sleeps) {
  running.state = State::kOutside;
  running.outside_looks = 0;
  if (sleeps) {
    count_outside("code that is not instrumented");
  } else {
    ++counts.uncontrolled;
  }
  hand_on(running, false);
}

void look(uint64_t& last, int& still) {
  const Locked locked(schedule_lock);
  Thread* const running = holder;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kOutside) ++thread->outside_looks;
  if (running == nullptr) {
    // Only threads outside run. Time passes for the others.
    for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
      if (thread->state == State::kOutside) {
        hand_on(*thread, false);
        break;
      }
    still = 0;
    return;
  }
  if (decisions != last || running->common.critical != 0) {
    last = decisions;
    still = 0;
    return;
  }
  ++still;
  const char state = state_of(running->common.kernel_id);
  const bool sleeps = state == 'S' || state == 'D';
  // A program that spun once does so again.
  const int patience = sleeps || counts.uncontrolled > 0 ? kSleepingLooks : kSpinningLooks;
  if (still < patience || !others_wait(*running)) return;
  run_beside(*running, sleeps);
  still = 0;
}

void* watch(void*) {
  uint64_t last = 0;
  int still = 0;
  for (;;) {
    system_call(SYS_poll, 0, 0, kLookEvery_ms);
    look(last, still);
  }
}

}  // namespace

void start_monitor() {
  if (started) return;
  started = true;
  sigset_t all, old;
  sigfillset(&all);
  REAL(pthread_sigmask)(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t name;
  REAL(pthread_create)(&name, &attributes, watch, nullptr);
  pthread_attr_destroy(&attributes);
  REAL(pthread_sigmask)(SIG_SETMASK, &old, nullptr);
}

void monitor_after_fork() { started = false; }

}  // namespace deadheat::runtime
