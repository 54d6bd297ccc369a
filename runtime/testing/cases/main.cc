// usage: intercept_cases --list | --expect CASE | --end WAY | CASE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/testing/cases/case.h"

const Case* Case::first = nullptr;

void mark(const char* text) { __deadheat_log_mark(text); }
void name_object(const char* name, const volatile void* address) {
  __deadheat_log_object(name, address);
}

void check_failed(const char* file, int line, const char* what) {
  __deadheat_log_end();
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  _exit(1);
}

// With a thread blocked in a read of stdin, holding its lock.
static int end_by(const char* way) {
  static int ends[2];
  if (pipe(ends) != 0) return 2;
  stdin = fdopen(ends[0], "r");
  pthread_t reader;
  pthread_create(
      &reader, nullptr,
      [](void*) -> void* {
        getchar();
        return nullptr;
      },
      nullptr);
  while (ftrylockfile(stdin) == 0) {
    funlockfile(stdin);
    sched_yield();
  }
  printf("buffered\n");
  if (strcmp(way, "exit") == 0) exit(3);
  if (strcmp(way, "_exit") == 0) _exit(3);
  if (strcmp(way, "quick_exit") == 0) quick_exit(3);
  if (strcmp(way, "pthread_exit") == 0) {
    // The last thread's end ends the process, after that end has been observed.
    close(ends[1]);
    pthread_exit(nullptr);
  }
  return 3;
}

int main(int count, char** arguments) {
  const bool list = count == 2 && strcmp(arguments[1], "--list") == 0;
  if (count == 3 && strcmp(arguments[1], "--end") == 0) return end_by(arguments[2]);
  const bool expect = count == 3 && strcmp(arguments[1], "--expect") == 0;
  for (const Case* one = Case::first; one != nullptr; one = one->next) {
    if (list) puts(one->name);
    if (list || strcmp(one->name, arguments[count - 1]) != 0) continue;
    if (expect) {
      fputs(one->expected, stdout);
      return 0;
    }
    if (one->seen) __tsan_init();
    __deadheat_log_begin();
    one->run();
    __deadheat_log_end();
    return 0;
  }
  if (!list) fprintf(stderr, "no case %s\n", arguments[count - 1]);
  return list ? 0 : 2;
}
