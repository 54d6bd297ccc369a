// Start: -z initfirst makes our constructor the first of the process. An instrumented object whose
// constructor calls __tsan_init earlier, or code that calls it explicitly, starts us as well.
//
// Fork: our pthread_atfork handlers are registered first, so `prepare` is the last to run before
// the fork and the other two are the first after it: the program's own handlers run while the mode
// works as usual.
#include "runtime/common/intercept/start.h"

#include <pthread.h>
#include <unistd.h>

#include "runtime/common/allocation_hooks.h"
#include "runtime/common/arena.h"
#include "runtime/common/check_words.h"
#include "runtime/common/heap.h"
#include "runtime/common/intercept/descriptors.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/options.h"

// A program may define these (<sanitizer/tsan_interface.h>).
extern "C" {
[[gnu::visibility("default")]] void __tsan_on_initialize();
[[gnu::visibility("default")]] int __tsan_on_finalize(int failed);
}

namespace deadheat::runtime {

__thread Thread* tls_self __attribute__((tls_model("initial-exec")));

namespace {

uint32_t started;
uint32_t finished_by;  // the process that was flushed; a forked child is a different one

void before_fork() {
  makes_relatives();
  if (self() != nullptr) mode_before_fork(self());
  threads_before_fork();
}

void after_fork_parent() {
  threads_after_fork(false);
  if (self() != nullptr) mode_after_fork_parent(self());
}

void after_fork_child() {
  local.kernel_id = 0;
  threads_after_fork(true);
  arena_after_fork();
  heap_after_fork();
  modules_after_fork();
  if (self() != nullptr) mode_after_fork_child(self());
}

// Runs before libc has set environ; libc will set it to the same value.
[[gnu::constructor(101)]] void library_start(int, char**, char** environment) {
  if (environ == nullptr) environ = environment;
  start_runtime();
}

}  // namespace

void before_raw_fork() { before_fork(); }

void after_raw_fork(bool child) {
  if (child) {
    after_fork_child();
  } else {
    after_fork_parent();
  }
}

void start_runtime() {
  if (started != 0) return;
  started = 1;
  resolve_real();
  parse_options();
  modules_refresh();
  pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  exit_handlers_start();
  start_no_cells();
  mode_start();
  threads_start();
  start_allocation_hooks();
  __tsan_on_initialize();
}

int finish_runtime(int status, bool again) {
  if (started == 0) return status;
  const uint32_t process = process_id();
  if (__atomic_load_n(&finished_by, __ATOMIC_RELAXED) == process) return mode_exit_code(status);
  if (!again) __atomic_store_n(&finished_by, process, __ATOMIC_RELAXED);
  mode_finish();
  const int code = mode_exit_code(status);
  if (again) return code;
  if (__tsan_on_finalize(code != status ? 1 : 0) == 0) return status;
  if (code != status) program_dies();
  return code;
}

}  // namespace deadheat::runtime

EXPORTED void __tsan_init() {
  deadheat::runtime::start_runtime();
  deadheat::runtime::module_called_init(CALLER);
}
