// Watches the baton. Its holder may sleep in the kernel (code that we do not see waits for
// somebody), or run for long without a point (it spins on something whose accesses are switched
// off): then another may run beside it. Not repeatable, so it is counted.
//
// A loaded machine must not look like either: a thread spins if it used much processor time, not
// because it took long, and sleeps if it did not run at all from one look to the next.
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/print.h"
#include "runtime/schedule/release.h"
#include "runtime/schedule/world.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, pthread_create,
              (pthread_t * name, const pthread_attr_t* attributes, void* (*routine)(void*),
               void* argument))
REAL_FUNCTION(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old))

namespace {

constexpr long kLookEvery_ms = 10;
constexpr int kSleepingLooks = 3;
// Looks at which it slept, though it ran in between: it polls.
constexpr int kNaps = 20;
// In a sleep that ends by itself (the disk, the start of a thread or process while the system
// migrates others; one took 30 ms and more under load), or in an unknown state. It is still not
// waited for indefinitely, since it may depend on a thread of ours (a file system in this process).
constexpr int kStuckLooks = 100;
constexpr uint64_t kSpinning_ns = 200'000'000;
constexpr uint64_t kSpinningAgain_ns = 30'000'000;  // a program that spun once does so again

bool started;

}  // namespace

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

uint64_t used_ns(uint32_t kernel_id) {
  if (kernel_id == 0) return 0;     // not started yet
  constexpr long kThreadSched = 6;  // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of the kernel
  const long clock = static_cast<int32_t>(~kernel_id << 3 | kThreadSched);
  timespec time = {};
  system_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&time));
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

namespace {

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

// The holder's state since its last point.
struct Watched {
  const Thread* thread = nullptr;
  uint64_t decisions = 0, first_ns = 0, last_ns = 0;
  int asleep = 0, stuck = 0;  // consecutive looks at which it had not run
  int naps = 0;
};

// A joining thread sleeps until the kernel has finished the other one, however long that takes.
bool somebody_is_leaving() {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state != State::kEnded) continue;
    const char state = state_of(thread->common.kernel_id);
    if (state == 'R' || state == 'D') return true;
  }
  return false;
}

enum class Seen : uint8_t { kAtWork, kSleeps, kSpins };

Seen watch_holder(const Thread& running, Watched& watched) {
  const uint64_t now_ns = used_ns(running.common.kernel_id);
  const char state = state_of(running.common.kernel_id);
  // Checked last: a thread that has meanwhile reached a point sleeps because we hold the lock.
  if (watched.thread != &running || watched.decisions != decisions ||
      running.common.critical != 0) {
    watched = {&running, decisions, now_ns, now_ns};
    return Seen::kAtWork;
  }
  const bool ran = now_ns != watched.last_ns || state == 'R';  // R: it will run when it gets a turn
  watched.last_ns = now_ns;
  watched.asleep = !ran && state == 'S' ? watched.asleep + 1 : 0;
  watched.stuck = ran ? 0 : watched.stuck + 1;
  watched.naps += ran && state == 'S' ? 1 : 0;
  if (watched.stuck >= kStuckLooks || watched.naps >= kNaps) return Seen::kSleeps;
  if (watched.asleep >= kSleepingLooks && !somebody_is_leaving()) return Seen::kSleeps;
  const uint64_t patience = counts.uncontrolled > 0 ? kSpinningAgain_ns : kSpinning_ns;
  return now_ns - watched.first_ns >= patience ? Seen::kSpins : Seen::kAtWork;
}

// Threads outside. A thread that waits only for a processor is about to return.
void watch_outside() {
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state != State::kOutside) continue;
    const uint64_t now_ns = used_ns(thread->common.kernel_id);
    const bool starved = now_ns == thread->outside_ns && !is_gone(*thread) &&
                         state_of(thread->common.kernel_id) == 'R';
    thread->outside_ns = now_ns;
    if (!starved) ++thread->outside_looks;
  }
}

void look(Watched& watched) {
  const Locked locked(schedule_lock);
  watch_outside();
  look_at_the_time();
  Thread* const running = holder;
  if (running == nullptr) {
    // Only threads outside run. Time passes for the others.
    for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
      if (thread->state == State::kOutside) {
        hand_on(*thread);
        break;
      }
    return;
  }
  const Seen seen = watch_holder(*running, watched);
  if (seen == Seen::kAtWork || !others_wait(*running)) return;
  run_beside(*running, seen == Seen::kSleeps);
}

void* watch(void*) {
  Watched watched;
  for (;;) {
    system_call(SYS_poll, 0, 0, kLookEvery_ms);
    look(watched);
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
