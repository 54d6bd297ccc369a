// A pipe with one byte in it is a lock, as libuv has it: many threads wait for one descriptor, and
// one of them gets what is there. The counter is raced on; with SAFE it is under the lock.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { kThreads = 12, kRounds = 20 };

static int token[2];
static int inside, shared;

static void take(void) {
  char byte;
  while (read(token[0], &byte, 1) != 1) {
  }
}

static void give(void) {
  while (write(token[1], "x", 1) != 1) {
  }
}

static void* work(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    take();
    ++inside;
#ifdef SAFE
    ++shared;
#endif
    give();
#ifndef SAFE
    if (i < kRounds - 1) continue;
    ++shared;
#endif
  }
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  if (pipe(token) != 0) return 1;
  give();
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", inside);
  return inside == kThreads * kRounds ? 0 : 1;
}
