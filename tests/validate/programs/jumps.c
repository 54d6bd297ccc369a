/* A signal's handler jumps out of a thread that is about to make its access, which is then never
 * made: the other thread's access comes after the jump, by release and acquire. With the argument
 * "racy" the other thread does not wait for that. The sleeps order nothing: two are between looks
 * at the turn, which is the release and acquire meant, and one is between the signals that are to
 * come while a thread is held back. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { kTurns = 40 };

int data; /* not static: it must not be optimised away */
static atomic_int turn, over;
static volatile sig_atomic_t may_jump;
static sigjmp_buf away;
static int racy;

static void jump(int signal) {
  (void)signal;
  if (may_jump) siglongjmp(away, 1);
}

static __attribute__((noinline)) void put(void) { data = 1; }
static __attribute__((noinline)) void take(void) { data = 2; }

static void* first(void* unused) {
  for (int i = 0; i < kTurns; ++i) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i) usleep(20);
    if (sigsetjmp(away, 1) == 0) {
      may_jump = 1;
      put();
    }
    may_jump = 0;
    atomic_store_explicit(&turn, 2 * i + 1, memory_order_release);
  }
  return unused;
}

static void* second(void* unused) {
  for (int i = 0; i < kTurns; ++i) {
    if (racy) take();
    while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i + 1) usleep(20);
    take();
    atomic_store_explicit(&turn, 2 * i + 2, memory_order_release);
  }
  atomic_store(&over, 1);
  return unused;
}

int main(int argc, char** argv) {
  racy = argc > 1;
  (void)argv;
  signal(SIGUSR1, jump);
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  while (!atomic_load(&over)) {
    pthread_kill(a, SIGUSR1);
    usleep(500);
  }
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
