// RWrace of the DRDDR paper's Figure 2 as a user program, and its safe twins. One file, so that
// what differs is seen: build with -DRACE, -DVOLATILE, -DMUTEX, -DLOCKED, -DLOCAL, -DATOMIC or
// -DMOVES (atomic loads and stores: the same instructions as RACE). Runs until its standard input
// ends, or for argv[1] seconds.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(MUTEX)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
#elif defined(LOCKED) || defined(ATOMIC) || defined(MOVES)
static atomic_int value;
#elif defined(LOCAL)
static _Thread_local int value;
#else
static int value;
#endif

static atomic_int stop;

static unsigned next_random(unsigned* state) { return *state = *state * 1664525U + 1013904223U; }

__attribute__((noinline)) static int write_once(int number) {
#if defined(MUTEX)
  pthread_mutex_lock(&lock);
  value = number;
  pthread_mutex_unlock(&lock);
  return 0;
#elif defined(LOCKED)
  return atomic_fetch_add(&value, number);  // lock xadd
#elif defined(ATOMIC)
  return atomic_exchange(&value, number);  // xchg
#elif defined(MOVES)
  atomic_store_explicit(&value, number, memory_order_release);
  return 0;
#elif defined(VOLATILE)
  *(volatile int*)&value = number;
  return 0;
#else
  value = number;  // in the paper: *ptr = rand()
  return 0;
#endif
}

__attribute__((noinline)) static int read_once(void) {
#if defined(MUTEX)
  pthread_mutex_lock(&lock);
  const int got = value;
  pthread_mutex_unlock(&lock);
  return got;
#elif defined(LOCKED)
  return atomic_fetch_add(&value, 1);
#elif defined(ATOMIC)
  int expected = 0;
  atomic_compare_exchange_strong(&value, &expected, 1);
  return expected;
#elif defined(MOVES)
  return atomic_load_explicit(&value, memory_order_acquire);
#elif defined(VOLATILE)
  return *(volatile int*)&value;
#else
  return value;
#endif
}

// RMWs, so that the flag is not itself a collision of a plain load.
static int stopped(void) { return atomic_fetch_add(&stop, 0); }

static void* writer(void* state) {
  unsigned random = 1;
  int sum = 0;
  while (!stopped()) sum += write_once((int)next_random(&random));
  *(int*)state = sum;
  return 0;
}

static void* reader(void* state) {
  int sum = 0;
  while (!stopped()) sum += read_once();
  *(int*)state = sum;
  return 0;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  int sums[2];
  pthread_create(&threads[0], 0, writer, &sums[0]);
  pthread_create(&threads[1], 0, reader, &sums[1]);
  struct pollfd input = {0, POLLIN, 0};
  poll(&input, argc > 1 ? 0 : 1, argc > 1 ? atoi(argv[1]) * 1000 : -1);
  atomic_fetch_add(&stop, 1);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  puts("done");
  return 0;
}
