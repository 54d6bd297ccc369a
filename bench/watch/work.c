// Fixed work in two threads, for run time with and without a watch: a table under locks, one lock a
// thread most of the time. argv[1]: millions of rounds. Prints the processor time that it took, in
// seconds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { kSlots = 64 };
static struct {
  pthread_mutex_t lock;
  long sum, count, last;
} table[kSlots];
static long rounds;

static void* work(void* number) {
  unsigned state = (unsigned)(long)number + 1;
  for (long i = 0; i < rounds; i++) {
    state = state * 1664525U + 1013904223U;
    const unsigned slot = (state >> 16) % kSlots;
    pthread_mutex_lock(&table[slot].lock);
    table[slot].sum += state;
    table[slot].count++;
    table[slot].last = i;
    pthread_mutex_unlock(&table[slot].lock);
  }
  return 0;
}

int main(int argc, char** argv) {
  rounds = (argc > 1 ? atol(argv[1]) : 10) * 1000000;
  for (int i = 0; i < kSlots; i++) pthread_mutex_init(&table[i].lock, 0);
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void*)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  long count = 0;
  for (int i = 0; i < kSlots; i++) count += table[i].count;
  struct rusage own;
  getrusage(RUSAGE_SELF, &own);
  printf("%f\n", (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                     (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6);
  return count != 2 * rounds;
}
