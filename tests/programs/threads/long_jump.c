// longjmp leaves functions without their exits; the stack of what follows is right again.
#include <setjmp.h>

#include "program.h"

int after;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void deeper(jmp_buf* back, int depth) {
  if (depth == 0) longjmp(*back, 1);
  deeper(back, depth - 1);
  keep(back);
}

static void* worker(void* arg) {
  jmp_buf back;
  for (volatile int i = 0; i < 100; ++i) {
    if (setjmp(back) == 0) deeper(&back, 20);
  }
  if (SAFE) pthread_mutex_lock(&lock);
  after += 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(worker, worker); }
