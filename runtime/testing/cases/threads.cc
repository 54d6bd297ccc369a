// Threads: creation, end, names, TLS destruction, signals, jumps.
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "runtime/testing/cases/case.h"

namespace {

void* nothing(void* argument) { return argument; }

void* wait_for_lock(void* lock) {
  pthread_mutex_lock(static_cast<pthread_mutex_t*>(lock));
  pthread_mutex_unlock(static_cast<pthread_mutex_t*>(lock));
  return nullptr;
}

// A detached thread cannot be joined: the kernel tells when it has ended.
void wait_until_alone() {
  for (;;) {
    int threads = 0;
    DIR* const folder = opendir("/proc/self/task");
    while (const dirent* entry = readdir(folder)) threads += entry->d_name[0] != '.' ? 1 : 0;
    closedir(folder);
    if (threads == 1) return;
    sched_yield();
  }
}

}  // namespace

CASE(thread, R"(
T0 create 1
T0 join 1
T1 start
T1 thread_finish
)") {
  pthread_t thread;
  int x;
  void* result = nullptr;
  QUIET(CHECK(pthread_create(&thread, nullptr, nothing, &x) == 0));
  QUIET(CHECK(pthread_join(thread, &result) == 0));
  CHECK(result == &x);
}

CASE(thread_that_cannot_be_created, R"(
T0 create 1
T0 cancel_create 1
T0 create 2
T0 join 2
T2 start
T2 thread_finish
)") {
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setstacksize(&how, size_t{1} << 46);
  pthread_t thread;
  CHECK(pthread_create(&thread, &how, nothing, nullptr) != 0);
  CHECK(pthread_create(&thread, nullptr, nothing, nullptr) == 0);
  pthread_join(thread, nullptr);
}

CASE(thread_that_is_not_done, R"(
T0 lock m
T0 create 1
T0 unlock m
T0 join 1
T0 create 2
T0 join 2
T0 create 3
T0 join 3
T1 start
T1 lock m
T1 unlock m
T1 thread_finish
T2 start
T2 thread_finish
T3 start
T3 thread_finish
)") {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  NAME(m);
  const timespec past = {0, 0}, future = {1L << 40, 0};
  pthread_mutex_lock(&m);
  pthread_t thread;
  pthread_create(&thread, nullptr, wait_for_lock, &m);
  CHECK(pthread_tryjoin_np(thread, nullptr) == EBUSY);
  CHECK(pthread_timedjoin_np(thread, nullptr, &past) == ETIMEDOUT);
  CHECK(pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
  pthread_mutex_unlock(&m);
  CHECK(pthread_timedjoin_np(thread, nullptr, &future) == 0);
  pthread_create(&thread, nullptr, nothing, nullptr);
  CHECK(pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &future) == 0);
  pthread_create(&thread, nullptr, nothing, nullptr);
  while (pthread_tryjoin_np(thread, nullptr) == EBUSY) sched_yield();
}

CASE(detached_threads, R"(
T0 create 1
T0 detach 1
T0 create 2
T0 detach 2
T1 start
T1 lock m
T1 unlock m
T1 thread_finish
T2 start
T2 lock m
T2 unlock m
T2 thread_finish
)") {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  NAME(m);
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  CHECK(pthread_create(&thread, &how, wait_for_lock, &m) == 0);
  wait_until_alone();
  CHECK(pthread_create(&thread, nullptr, wait_for_lock, &m) == 0);
  CHECK(pthread_detach(thread) == 0);
  wait_until_alone();
}

CASE(pthread_exit_and_tls, R"(
T0 create 1
T0 join 1
T1 start
T1 mark thread_local
T1 mark key
T1 mark key
T1 thread_finish
)") {
  static pthread_key_t key;
  static thread_local int rounds = 2;
  struct Object {
    ~Object() { mark("thread_local"); }
    int used = 1;
  };
  pthread_key_create(&key, [](void* value) {
    mark("key");
    if (--rounds > 0) pthread_setspecific(key, value);
  });
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        static thread_local Object object;
        object.used = 2;
        pthread_setspecific(key, &rounds);
        pthread_exit(nullptr);
      },
      nullptr);
  pthread_join(thread, nullptr);
}

CASE(thread_names, R"(
T0 name one
T0 name two
)") {
  CHECK(pthread_setname_np(pthread_self(), "one") == 0);
  CHECK(pthread_setname_np(pthread_self(), "much too long for a name") == ERANGE);
  CHECK(prctl(PR_SET_NAME, "two", 0, 0, 0) == 0);
  char name[16];
  CHECK(prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && strcmp(name, "two") == 0);
}

CASE(c11_thread, R"(
T0 create 1
T0 join 1
T0 create 2
T0 join 2
T1 start
T1 thread_finish
T2 start
T2 thread_finish
)") {
  thrd_t thread;
  int result = 0;
  CHECK(thrd_create(&thread, [](void*) { return 17; }, nullptr) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == 17);
  CHECK(thrd_create(&thread, [](void*) -> int { thrd_exit(18); }, nullptr) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == 18);
}

namespace {

volatile sig_atomic_t caught;
siginfo_t caught_info;

void on_plain(int signal) {
  mark("handler");
  caught = signal;
  errno = 99;
}

void on_info(int signal, siginfo_t* info, void*) {
  caught = signal;
  caught_info = *info;
}

}  // namespace

// Installing and sending happen before the handler runs. What is sent may also be for a signalfd
// (o2).
CASE(signal_handlers, R"(
T0 happens_before o1
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 mark handler
T0 mark second
T0 happens_before o1
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 happens_before o3
)") {
  struct sigaction action = {}, old;
  action.sa_handler = on_plain;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, &old) == 0);
  CHECK(old.sa_handler == SIG_DFL);
  QUIET(CHECK(raise(SIGUSR1) == 0));
  CHECK(caught == SIGUSR1);
  CHECK(sigaction(SIGUSR1, nullptr, &old) == 0);
  CHECK(old.sa_handler == on_plain && (old.sa_flags & SA_SIGINFO) == 0 &&
        (old.sa_flags & SA_RESTART) != 0);
  mark("second");
  action.sa_sigaction = on_info;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  CHECK(sigaction(SIGUSR1, &action, &old) == 0);
  CHECK(old.sa_handler == on_plain);
  sigval value;
  value.sival_int = 4242;
  CHECK(sigqueue(getpid(), SIGUSR1, value) == 0);
  CHECK(caught_info.si_value.sival_int == 4242);
  CHECK(sigaction(SIGUSR1, nullptr, &old) == 0);
  CHECK(old.sa_handler == SIG_DFL);
  CHECK(signal(SIGUSR2, on_plain) == SIG_DFL);
  CHECK(signal(SIGUSR2, SIG_IGN) == on_plain);
  CHECK(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
  CHECK(sigaction(SIGKILL, &action, nullptr) == -1 && errno == EINVAL);
  CHECK(signal(1000, on_plain) == SIG_ERR && errno == EINVAL);
}

namespace {
jmp_buf target;
sigjmp_buf signal_target;
[[gnu::noinline]] void jump() { longjmp(target, 5); }
}  // namespace

CASE(jumps, R"(
T0 jump 1
T0 mark back
T0 happens_before o1
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 jump 1
T0 mark back
)") {
  if (setjmp(target) == 0) jump();
  mark("back");
  signal(SIGUSR1, [](int) { siglongjmp(signal_target, 1); });
  if (sigsetjmp(signal_target, 1) == 0) raise(SIGUSR1);
  mark("back");
}

CASE(sigwait_family, R"(
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 mark got
)") {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  raise(SIGUSR1);
  CHECK(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR1);
  siginfo_t info;
  CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
  const timespec none = {0, 0};
  CHECK(sigtimedwait(&set, &info, &none) == -1 && errno == EAGAIN);
  mark("got");
}
