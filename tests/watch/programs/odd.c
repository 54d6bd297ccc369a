// Programs that do what a debugger does, or share memory in unusual ways, while two threads work:
// they must not notice that they are watched. odd MODE runs until its standard input ends:
//   trap   handles SIGTRAP itself, and traps
//   clone  begins children that share its memory but are no threads, one after the other
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static long cells[2][64];
static volatile long traps;  // by the main thread alone
static volatile int children;

static void* work(void* cell) {
  long* const mine = cell;
  while (!atomic_fetch_add(&stop, 0))
    for (int i = 0; i < 64; ++i) mine[i] += i;
  return 0;
}

static void on_trap(int signal) { traps += signal == SIGTRAP; }

static int child(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; ++i) children += i % 1000 == 0;
  return 0;
}

static int trap_once(void) {
  const long before = traps;
  __asm__ volatile("int3");
  raise(SIGTRAP);
  return traps == before + 2;
}

static int clone_once(char* stack_end) {
  const int before = children;
  int status = 1;
  const pid_t id = clone(child, stack_end, CLONE_VM | SIGCHLD, 0);
  return waitpid(id, &status, 0) == id && status == 0 && children == before + 1;
}

static int input_ended(void) {
  struct pollfd input = {0, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

int main(int argc, char** argv) {
  const int traps_itself = argc > 1 && strcmp(argv[1], "trap") == 0;
  struct sigaction action = {.sa_handler = on_trap};
  if (traps_itself) sigaction(SIGTRAP, &action, 0);
  char* const stack = malloc(1 << 16);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, work, cells[i]);
  puts("ready");
  fflush(stdout);
  int good = 1;
  while (good && !input_ended()) good = traps_itself ? trap_once() : clone_once(stack + (1 << 16));
  atomic_fetch_add(&stop, 1);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  puts(good ? "done" : "disturbed");
  return good ? 0 : 1;
}
