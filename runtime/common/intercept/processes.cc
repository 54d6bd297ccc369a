// New processes and programs. fork needs no interceptor (start.cc registers atfork handlers);
// posix_spawn, system and popen make children that only call exec. vfork becomes a fork: its child
// would run our hooks on the parent's memory.
#include <errno.h>
#include <stdarg.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/start.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, fork, ())

INTERCEPT(int, vfork, ()) { return REAL(fork)(); }

INTERCEPT(int, _Fork, ()) {
  before_raw_fork();
  const int result = REAL(_Fork)();
  const int saved = errno;
  after_raw_fork(result == 0);
  errno = saved;
  return result;
}

// If exec succeeds, this process's findings must have been written; if not, the process continues.
INTERCEPT(int, execve, (const char* path, char* const* arguments, char* const* environment)) {
  finish_runtime(0, true);
  return REAL(execve)(path, arguments, environment);
}

INTERCEPT(int, execv, (const char* path, char* const* arguments)) {
  finish_runtime(0, true);
  return REAL(execv)(path, arguments);
}

INTERCEPT(int, execvp, (const char* file, char* const* arguments)) {
  finish_runtime(0, true);
  return REAL(execvp)(file, arguments);
}

INTERCEPT(int, execvpe, (const char* file, char* const* arguments, char* const* environment)) {
  finish_runtime(0, true);
  return REAL(execvpe)(file, arguments, environment);
}

INTERCEPT(int, fexecve, (int fd, char* const* arguments, char* const* environment)) {
  finish_runtime(0, true);
  return REAL(fexecve)(fd, arguments, environment);
}

INTERCEPT(int, execveat,
          (int folder, const char* path, char* const* arguments, char* const* environment,
           int flags)) {
  finish_runtime(0, true);
  return REAL(execveat)(folder, path, arguments, environment, flags);
}

namespace {

// Collects the arguments of execl and similar functions in an array on the caller's stack.
#define COLLECT_ARGUMENTS(first, list, array)                                              \
  va_list list, counted;                                                                   \
  va_start(list, first);                                                                   \
  va_copy(counted, list);                                                                  \
  size_t count = 1;                                                                        \
  if ((first) != nullptr)                                                                  \
    while (va_arg(counted, char*) != nullptr) ++count;                                     \
  va_end(counted);                                                                         \
  auto** const array = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  array[0] = const_cast<char*>(first);                                                     \
  for (size_t i = 1; i <= count && (first) != nullptr; ++i) array[i] = va_arg(list, char*);

}  // namespace

EXPORTED int intercept_execl(const char* path, const char* first, ...) __asm__("execl");
extern "C" int intercept_execl(const char* path, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments)
  va_end(list);
  finish_runtime(0, true);
  return REAL(execv)(path, arguments);
}

EXPORTED int intercept_execlp(const char* file, const char* first, ...) __asm__("execlp");
extern "C" int intercept_execlp(const char* file, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments)
  va_end(list);
  finish_runtime(0, true);
  return REAL(execvp)(file, arguments);
}

EXPORTED int intercept_execle(const char* path, const char* first, ...) __asm__("execle");
extern "C" int intercept_execle(const char* path, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments)
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  finish_runtime(0, true);
  return REAL(execve)(path, arguments, environment);
}

}  // namespace deadheat::runtime
