// Two threads that go on until the time is over: argv[1], in seconds. How long is all that the
// sleep says.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int stop;

// The second gets a pointer that is not null.
static int run_pair(void* (*work)(void*), int argc, char** argv) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, work, 0);
  pthread_create(&threads[1], 0, work, &stop);
  sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
  atomic_fetch_add(&stop, 1);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  puts("done");
  return 0;
}
