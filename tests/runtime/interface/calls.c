// Calls what the sanitizer headers declare and looks at what it does. Declared by hand: gcc 12
// lacks some of the headers. `calls quiet`: in a mode that reports nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

void __sanitizer_set_report_path(const char*);
void __sanitizer_set_report_fd(void*);
const char* __sanitizer_get_report_path(void);
void __sanitizer_set_death_callback(void (*)(void));
int __sanitizer_acquire_crash_state(void);
int __sanitizer_get_module_and_offset_for_pc(void*, char*, size_t, void**);
void __sanitizer_symbolize_pc(void*, const char*, char*, size_t);
void __sanitizer_symbolize_global(void*, const char*, char*, size_t);
void __sanitizer_print_stack_trace(void);
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                              void (*)(const volatile void*));
int __sanitizer_get_ownership(const volatile void*);
size_t __sanitizer_get_allocated_size(const volatile void*);
const void* __sanitizer_get_allocated_begin(const void*);
size_t __sanitizer_get_current_allocated_bytes(void);
size_t __sanitizer_get_heap_size(void);
void __sanitizer_purge_allocator(void);
void __sanitizer_syscall_pre_impl_close(long);
void __sanitizer_syscall_pre_impl_write(long, long, long);
void __sanitizer_syscall_post_impl_write(long, long, long, long);
void __sanitizer_syscall_post_impl_read(long, long, long, long);
void __tsan_flush_memory(void);
int __tsan_get_report_data(void*, const char**, int*, int*, int*, int*, int*, int*, int*, void**,
                           unsigned long);
int __tsan_get_report_mop(void*, unsigned long, int*, void**, int*, int*, int*, void**,
                          unsigned long);
int __tsan_get_report_loc(void*, unsigned long, const char**, void**, void**, unsigned long*, int*,
                          int*, int*, void**, unsigned long);
int __tsan_get_report_thread(void*, unsigned long, int*, unsigned long*, int*, const char**, int*,
                             void**, unsigned long);
void* __tsan_get_current_report(void);

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "calls.c:%d: not so: %s\n", __LINE__, #condition); \
      abort();                                                           \
    }                                                                    \
  } while (0)

static int initialized, reports, allocated, freed;
int shared_word;

// --- Defined by the program, called by the runtime.
void __tsan_on_initialize(void) { initialized = 1; }
int __tsan_on_finalize(int failed) {
  printf("finalized %d\n", failed);
  fflush(stdout);
  return failed;
}
void __sanitizer_malloc_hook(const volatile void* block, size_t size) {
  allocated += block != NULL && size == 4711;
}
void __sanitizer_free_hook(const volatile void* block) {
  freed += __sanitizer_get_allocated_size(block) == 4711;
}
void __sanitizer_report_error_summary(const char* line) {
  CHECK(strncmp(line, "SUMMARY: ThreadSanitizer: data race", 35) == 0);
  ++reports;
}
void __tsan_on_report(void* report) {
  const char *what, *type, *name;
  int count, stacks, accesses, locations, mutexes, threads, tids;
  void* trace[8];
  CHECK(report == __tsan_get_current_report());
  CHECK(__tsan_get_report_data(report, &what, &count, &stacks, &accesses, &locations, &mutexes,
                               &threads, &tids, trace, 8));
  CHECK(strcmp(what, "data-race") == 0 && accesses == 2 && locations == 1 && threads == 2);
  for (unsigned i = 0; i < 2; ++i) {
    int tid, size, write, atomic;
    void* address;
    CHECK(__tsan_get_report_mop(report, i, &tid, &address, &size, &write, &atomic, trace, 8));
    CHECK(address == &shared_word && size == 4 && write && !atomic && trace[0] != NULL);
  }
  int tid, fd, suppressable, running, parent;
  void *address, *start;
  unsigned long size, os;
  CHECK(__tsan_get_report_loc(report, 0, &type, &address, &start, &size, &tid, &fd, &suppressable,
                              trace, 8));
  CHECK(strcmp(type, "global") == 0 && address == &shared_word);
  CHECK(__tsan_get_report_thread(report, 0, &tid, &os, &running, &name, &parent, trace, 8));
  CHECK(os != 0);
  CHECK(!__tsan_get_report_thread(report, 2, &tid, &os, &running, &name, &parent, trace, 8));
  ++reports;
}

static int hooked_allocations, hooked_frees;
static void on_malloc(const volatile void* block, size_t size) {
  hooked_allocations += block != NULL && size == 4711;
}
static void on_free(const volatile void* block) {
  hooked_frees += __sanitizer_get_allocated_size(block) == 4711;
}

static void allocator(void) {
  CHECK(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
  const size_t before = __sanitizer_get_current_allocated_bytes();
  char* const block = malloc(4711);
  CHECK(__sanitizer_get_current_allocated_bytes() >= before + 4711);
  CHECK(__sanitizer_get_heap_size() >= 4711);
  CHECK(__sanitizer_get_ownership(block) && !__sanitizer_get_ownership(block + 16));
  CHECK(__sanitizer_get_allocated_size(block) == 4711);
  CHECK(__sanitizer_get_allocated_begin(block + 4000) == block);
  free(block);
  CHECK(allocated == 1 && freed == 1 && hooked_allocations == 1 && hooked_frees == 1);
  __sanitizer_purge_allocator();
}

// What the calls write to the log until the descriptor is given back.
static void read_log(int log, char* text, size_t room) {
  __sanitizer_set_report_fd((void*)2);
  const ssize_t size = pread(log, text, room - 1, 0);
  CHECK(size >= 0);
  text[size] = '\0';
}

__attribute__((noinline)) void named_function(void) {
  __sanitizer_print_stack_trace();
  __asm__ volatile("");
}

static void places(void) {
  char path[4096], own[4096], text[4096];
  void* offset;
  CHECK(
      __sanitizer_get_module_and_offset_for_pc((void*)named_function, path, sizeof path, &offset));
  own[readlink("/proc/self/exe", own, sizeof own - 1)] = '\0';
  CHECK(strncmp(own, path, strlen(path)) == 0 && offset != NULL);
  CHECK(!__sanitizer_get_module_and_offset_for_pc((void*)8, path, sizeof path, &offset));
  __sanitizer_symbolize_pc((void*)named_function, "%f at 100%%", text, sizeof text);
  CHECK(strcmp(text, "named_function at 100%") == 0);
  __sanitizer_symbolize_pc((void*)named_function, "%f", text, 6);
  CHECK(strcmp(text, "named") == 0);
  __sanitizer_symbolize_global(&shared_word, "%g", text, sizeof text);
  CHECK(strcmp(text, "shared_word") == 0);
  const int log = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  __sanitizer_set_report_fd((void*)(long)log);
  named_function();
  read_log(log, text, sizeof text);
  CHECK(strstr(text, "#0 named_function <null> (") != NULL);
  CHECK(__sanitizer_acquire_crash_state() == 1 && __sanitizer_acquire_crash_state() == 0);
}

static void system_calls(void) {
  int ends[2];
  char byte = 'x';
  CHECK(pipe(ends) == 0);
  __sanitizer_syscall_pre_impl_write(ends[1], (long)&byte, 1);
  CHECK(write(ends[1], &byte, 1) == 1);
  __sanitizer_syscall_post_impl_write(1, ends[1], (long)&byte, 1);
  CHECK(read(ends[0], &byte, 1) == 1);
  __sanitizer_syscall_post_impl_read(1, ends[0], (long)&byte, 1);
  __sanitizer_syscall_pre_impl_close(ends[0]);
  close(ends[0]);
  close(ends[1]);
}

static void* writer(void* arg) {
  shared_word = 1;
  return arg;
}

static void race(void) {
  const int log = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  char text[16384];
  __sanitizer_set_report_fd((void*)(long)log);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, writer, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  read_log(log, text, sizeof text);
  CHECK(strstr(text, "WARNING: ThreadSanitizer: data race") != NULL);
  CHECK(strstr(text, "SUMMARY") == NULL && reports == 2);
}

static void on_death(void) { printf("died\n"), fflush(stdout); }

int main(int argc, char** argv) {
  CHECK(initialized);
  allocator();
  places();
  system_calls();
  __sanitizer_set_report_path("/tmp/nowhere");
  CHECK(strncmp(__sanitizer_get_report_path(), "/tmp/nowhere.", 13) == 0);
  __sanitizer_set_report_path(NULL);
  __sanitizer_set_death_callback(on_death);
  if (argc == 1) race();
  __tsan_flush_memory();
  return 0;
}
