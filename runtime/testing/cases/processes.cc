// Fork, exec, exit and its handlers.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/testing/cases/case.h"

namespace {

int status_of(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

CASE(forks, R"(
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
C0 after_fork_child
C0 finish
C0 after_fork_child
C0 finish
C0 after_fork_child
C0 finish
C0 after_fork_child
C0 finish
C0 after_fork_child
C0 finish
)") {
  pid_t child = fork();
  if (child == 0) _exit(7);
  CHECK(status_of(child) == 7);
  child = vfork();
  if (child == 0) _exit(8);
  CHECK(status_of(child) == 8);
  child = _Fork();
  if (child == 0) _exit(9);
  CHECK(status_of(child) == 9);
  child = static_cast<pid_t>(syscall(SYS_fork));
  if (child == 0) _exit(10);
  CHECK(status_of(child) == 10);
  child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) syscall(SYS_exit_group, 11);
  CHECK(status_of(child) == 11);
}

// The program's own handlers run while the mode works: before ours prepares, after ours is done.
CASE(fork_handlers, R"(
T0 mark prepare
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 mark parent
T0 happens_after o1
C0 after_fork_child
C0 mark child
C0 finish
)") {
  pthread_atfork([] { mark("prepare"); }, [] { mark("parent"); }, [] { mark("child"); });
  const pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(status_of(child) == 0);
}

// Other threads lock, allocate and create threads while the process forks: the child can do all of
// that.
CASE(fork_of_many_threads, R"(
T0 mark done
)") {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int stop;
  pthread_t threads[4];
  const auto body = [](void*) -> void* {
    while (__atomic_load_n(&stop, __ATOMIC_ACQUIRE) == 0) {
      pthread_mutex_lock(&lock);
      pthread_mutex_unlock(&lock);
      free(malloc(100));
      pthread_t inner;
      pthread_create(&inner, nullptr, [](void* value) { return value; }, nullptr);
      pthread_join(inner, nullptr);
    }
    return nullptr;
  };
  __deadheat_log_end();  // only the children's abilities matter
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, body, nullptr);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      free(malloc(1000));
      pthread_t inner;
      if (pthread_create(&inner, nullptr, [](void* value) { return value; }, nullptr) != 0)
        _exit(2);
      pthread_join(inner, nullptr);
      _exit(3);
    }
    CHECK(status_of(child) == 3);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  __deadheat_log_begin();
  mark("done");
}

CASE(exec_flushes_and_may_fail, R"(
T0 finish
T0 finish
T0 finish
T0 finish
T0 finish
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
C0 after_fork_child
C0 finish
)") {
  char name[] = "/does/not/exist";
  char* const arguments[] = {name, nullptr};
  CHECK(execv(name, arguments) == -1 && errno == ENOENT);
  CHECK(execve(name, arguments, environ) == -1 && errno == ENOENT);
  CHECK(execvp(name, arguments) == -1 && errno == ENOENT);
  CHECK(execl(name, name, nullptr) == -1 && errno == ENOENT);
  CHECK(execle(name, name, nullptr, environ) == -1 && errno == ENOENT);
  const pid_t child = fork();
  if (child == 0) execlp("sh", "sh", "-c", "exit $#", "sh", "one", "two", nullptr);
  CHECK(status_of(child) == 2);
}

// What goes out before a child is made comes before what comes in after its end. From then on a
// file tells those of all others, too.
CASE(system_and_popen, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_before o1
T0 happens_after o1
T0 mark done
)") {
  CHECK(system("exit 5") == 5 << 8);
  FILE* const pipe = popen("echo hello", "r");
  char text[16];
  CHECK(fgets(text, sizeof text, pipe) == text && text[0] == 'h');
  CHECK(pclose(pipe) == 0);
  mark("done");
}

// Ours is the last handler; registration happens before the handler.
CASE(exit_handlers, R"(
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
C0 after_fork_child
C0 happens_before o2
C0 happens_before o3
C0 happens_before o4
C0 happens_after o4
C0 mark on_exit
C0 happens_after o3
C0 mark atexit
C0 happens_after o2
C0 mark destructor
C0 finish
)") {
  const pid_t child = fork();
  if (child == 0) {
    struct Object {
      ~Object() { mark("destructor"); }
    };
    static const Object object;
    atexit([] { mark("atexit"); });
    on_exit([](int status, void*) { mark(status == 4 ? "on_exit" : "wrong"); }, nullptr);
    exit(4);
  }
  CHECK(status_of(child) == 4);
}

CASE(quick_exit_handlers, R"(
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
T0 happens_before o1
T0 before_fork
T0 after_fork_parent
T0 happens_after o1
C0 after_fork_child
C0 mark quick
C0 finish
C0 after_fork_child
C0 finish
)") {
  pid_t child = fork();
  if (child == 0) {
    at_quick_exit([] { mark("quick"); });
    quick_exit(6);
  }
  CHECK(status_of(child) == 6);
  child = fork();
  if (child == 0) abort();
  CHECK(status_of(child) == -SIGABRT);
}
