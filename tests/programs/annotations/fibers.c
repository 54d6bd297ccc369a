// build: tools=deadheat,tsan
// Fibers of two threads, switched with the sanitizer's calls. Within a thread they take turns,
// which orders them unless the switch says that it does not; a fiber brings what its creator knew.
#include <ucontext.h>

#include "program.h"

void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void*);
void __tsan_switch_to_fiber(void*, unsigned);

enum { kSync = 0, kNoSync = 1 };

typedef struct {
  ucontext_t context, caller;
  void *fiber, *home;
  char stack[1 << 16];
} Fiber;

static Fiber first, second;
int before, taken_turns, unordered;

static void leave(Fiber* fiber, unsigned how) {
  __tsan_switch_to_fiber(fiber->home, how);
  swapcontext(&fiber->context, &fiber->caller);
}

static void first_body(void) {
  use(before);       // NORACE: written by the creator
  taken_turns += 1;  // NORACE
  unordered = 1;     // RACE!
  leave(&first, SAFE ? kSync : kNoSync);
}

static void second_body(void) {
  unordered = 2;  // RACE!
  leave(&second, kSync);
}

static void run(Fiber* fiber, void (*body)(void), unsigned how) {
  fiber->home = __tsan_get_current_fiber();
  fiber->fiber = __tsan_create_fiber(0);
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = sizeof fiber->stack;
  fiber->context.uc_link = NULL;
  makecontext(&fiber->context, body, 0);
  __tsan_switch_to_fiber(fiber->fiber, how);
  swapcontext(&fiber->caller, &fiber->context);
}

int main(void) {
  before = 1;
  run(&first, first_body, kSync);
  if (SAFE) taken_turns += 1;  // NORACE
  run(&second, second_body, SAFE ? kSync : kNoSync);
  __tsan_destroy_fiber(first.fiber);
  __tsan_destroy_fiber(second.fiber);
}
