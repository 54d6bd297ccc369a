// Normal ends of a process, and its exit handlers.
//
// The first constructor of the process registers our handler before libc registers the linker's, so
// it runs after the program's handlers and all static destructors. To change the status it calls
// exit again: libc then continues where it was (no handlers are left, then stdio's buffers) and
// ends with the new status. Flushing the buffers ourselves could wait for a thread blocked in a
// read of stdin.
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/common/arena.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

// A handler registered by the program; the registration happens before the handler runs.
struct ExitHandler {
  void (*plain)(void*);
  void (*with_status)(int, void*);
  void* argument;
};

int quick_status;

void enters(const ExitHandler* handler) {
  if (self() != nullptr) on_happens_after(self(), CALLER, address_of(handler));
}

CALLS_PROGRAM void run_plain(void* data) {
  auto* const handler = static_cast<ExitHandler*>(data);
  enters(handler);
  const ExitHandler copy = *handler;
  arena_free(handler, sizeof *handler);
  copy.plain(copy.argument);
  NO_TAIL_CALL;
}

CALLS_PROGRAM void run_with_status(int status, void* data) {
  auto* const handler = static_cast<ExitHandler*>(data);
  enters(handler);
  const ExitHandler copy = *handler;
  arena_free(handler, sizeof *handler);
  copy.with_status(status, copy.argument);
  NO_TAIL_CALL;
}

ExitHandler* make_handler(void* argument, Address pc) {
  if (self() == nullptr) return nullptr;
  auto* const handler = arena_new<ExitHandler>();
  if (handler == nullptr) return nullptr;
  handler->argument = argument;
  on_happens_before(self(), pc, address_of(handler));
  return handler;
}

}  // namespace

INTERCEPT(int, __cxa_atexit, (void (*function)(void*), void* argument, void* object)) {
  ExitHandler* const handler = make_handler(argument, CALLER);
  if (handler == nullptr) return REAL(__cxa_atexit)(function, argument, object);
  handler->plain = function;
  return REAL(__cxa_atexit)(run_plain, handler, object);
}

INTERCEPT(int, on_exit, (void (*function)(int, void*), void* argument)) {
  ExitHandler* const handler = make_handler(argument, CALLER);
  if (handler == nullptr) return REAL(on_exit)(function, argument);
  handler->with_status = function;
  return REAL(on_exit)(run_with_status, handler);
}

REAL_FUNCTION(void, exit, (int status))
REAL_FUNCTION(int, __cxa_at_quick_exit, (void (*function)(void*), void* object))

INTERCEPT(void, _exit, (int status)) {
  REAL(_exit)(finish_runtime(status));
  __builtin_unreachable();
}

INTERCEPT(void, _Exit, (int status)) {
  REAL(_Exit)(finish_runtime(status));
  __builtin_unreachable();
}

INTERCEPT(void, quick_exit, (int status)) {
  quick_status = status;
  REAL(quick_exit)(status);
  __builtin_unreachable();
}

INTERCEPT(void, abort, ()) {
  finish_runtime(0, true);  // again: a handler of SIGABRT may jump out
  REAL(abort)();
  __builtin_unreachable();
}

INTERCEPT(void, __assert_fail,
          (const char* text, const char* file, unsigned line, const char* function)) {
  finish_runtime(0, true);
  REAL(__assert_fail)(text, file, line, function);
  __builtin_unreachable();
}

namespace {

// A program that does not join its threads often ends before they have done anything. Give them
// some time, but no more than they need.
void wait_for_threads() {
  constexpr int64_t kStepMs = 2;
  int64_t left_ms = runtime_options().atexit_sleep_ms;
  for (; left_ms > 0 && threads_alive() > 1; left_ms -= kStepMs) {
    const timespec step{0, kStepMs * 1000 * 1000};
    system_call(SYS_nanosleep, reinterpret_cast<long>(&step), 0);
  }
}

void at_exit(int status, void*) {
  wait_for_threads();
  const int code = finish_runtime(status);
  if (code != status) REAL(exit)(code);
}

void at_quick_exit_last(void*) {
  const int code = finish_runtime(quick_status);
  if (code != quick_status) REAL(_exit)(code);
}

}  // namespace

void exit_handlers_start() {
  REAL(on_exit)(at_exit, nullptr);
  REAL(__cxa_at_quick_exit)(at_quick_exit_last, nullptr);
}

}  // namespace deadheat::runtime
