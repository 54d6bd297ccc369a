// One race among a thousand innocent instructions, all of them busy. Runs for argv[1] seconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct own {
  long a, b, c, d;
};

// Each has four accesses to what only its thread uses.
#define INNOCENT(n)                                                   \
  __attribute__((noinline)) static void innocent_##n(struct own* o) { \
    o->a += n;                                                        \
    o->b ^= o->a;                                                     \
    o->c += o->b;                                                     \
    o->d ^= o->c;                                                     \
  }
#define SIXTEEN(do, n)                                                                        \
  do                                                                                          \
  (n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9) do( \
      n##a) do(n##b) do(n##c) do(n##d) do(n##e) do(n##f)
#define ALL(do)                                                                        \
  SIXTEEN(do, 0x1)                                                                     \
  SIXTEEN(do, 0x2)                                                                     \
  SIXTEEN(do, 0x3) SIXTEEN(do, 0x4) SIXTEEN(do, 0x5) SIXTEEN(do, 0x6) SIXTEEN(do, 0x7) \
      SIXTEEN(do, 0x8) SIXTEEN(do, 0x9) SIXTEEN(do, 0xa)
ALL(INNOCENT)

#define CALL(n) innocent_##n(mine);

static int value;
static atomic_int stop;

__attribute__((noinline)) static void needle_write(int number) { value = number; }
__attribute__((noinline)) static int needle_read(void) { return value; }

static void* work(void* reads) {
  struct own* const mine = calloc(1, sizeof *mine);
  while (atomic_fetch_add(&stop, 0) == 0) {
    ALL(CALL)
    if (reads)
      mine->a += needle_read();
    else
      needle_write((int)mine->a);
  }
  free(mine);
  return 0;
}

int main(int argc, char** argv) {
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
