// The writer sleeps in a call that an interruption would end until the reader wakes it, and writes
// at once, while the reader reads. Threads beyond the two sleep in that call for good. argv[1]:
// seconds, argv[2]: threads. -DSAFE: the reader waits for the answer before it reads. -DBLOCKED:
// the writer blocks every signal, as threads of servers do.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int value, wake[2], answer[2], forever[2];
static atomic_int stop;

__attribute__((noinline)) static void write_value(int number) { value = number; }
__attribute__((noinline)) static int read_value(void) { return value; }

static void* writer(void* unused) {
  char byte;
#ifdef BLOCKED
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
#endif
  for (int i = 0; read(wake[0], &byte, 1) == 1 && byte != 'e'; i++) {
    write_value(i);
    if (write(answer[1], &byte, 1) != 1) break;
  }
  return unused;
}

static void* reader(void* unused) {
  char byte = 'w';
  long sum = 0;
  while (!atomic_load(&stop) && write(wake[1], &byte, 1) == 1) {
#ifdef SAFE
    if (read(answer[0], &byte, 1) != 1) break;
    sum += read_value();
#else
    for (int i = 0; i < 20; i++) sum += read_value();
    if (read(answer[0], &byte, 1) != 1) break;
#endif
  }
  byte = 'e';
  return write(wake[1], &byte, 1) == 1 && sum != 1 ? unused : 0;
}

static void* sleeper(void* unused) {
  char byte;
  return read(forever[0], &byte, 1) == 1 ? unused : 0;
}

int main(int argc, char** argv) {
  const int count = argc > 2 ? atoi(argv[2]) : 2;
  pthread_t* const all = calloc((size_t)count, sizeof *all);
  if (pipe(wake) != 0 || pipe(answer) != 0 || pipe(forever) != 0) return 1;
  for (int i = 0; i < count; i++)
    pthread_create(&all[i], 0, i == 0 ? writer : i == 1 ? reader : sleeper, 0);
  sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
  atomic_store(&stop, 1);
  close(forever[1]);
  for (int i = 0; i < count; i++) pthread_join(all[i], 0);
  free(all);
  puts("done");
  return 0;
}
