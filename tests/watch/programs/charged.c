// All threads count in one atomic word, which somebody always touches, and each has cells of its
// own: whatever is said to collide with a cell was charged to the wrong sample. Runs for argv[1]
// seconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kThreads = 6, kCells = 8, kApart = 8 };

static atomic_long shared, stop;
static volatile long own[kThreads][kCells * kApart];

__attribute__((noinline)) static void count(void) { atomic_fetch_add(&shared, 1); }

__attribute__((noinline)) static void use(volatile long* cells) {
  for (int i = 0; i < kCells; i++) cells[i * kApart] += i;
}

static void* work(void* cells) {
  while (atomic_fetch_add(&stop, 0) == 0) {
    count();
    use(cells);
  }
  return 0;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], 0, work, (void*)own[i]);
  sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
  atomic_fetch_add(&stop, 1);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], 0);
  puts("done");
  return 0;
}
