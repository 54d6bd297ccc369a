// One race among a thousand innocent instructions, all of them busy. Runs for argv[1] seconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pair.h"

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
// clang-format off
#define SIXTEEN(make, n) \
  make(n##0) make(n##1) make(n##2) make(n##3) make(n##4) make(n##5) make(n##6) make(n##7) \
  make(n##8) make(n##9) make(n##a) make(n##b) make(n##c) make(n##d) make(n##e) make(n##f)
#define ALL(make) \
  SIXTEEN(make, 0x1) SIXTEEN(make, 0x2) SIXTEEN(make, 0x3) SIXTEEN(make, 0x4) SIXTEEN(make, 0x5) \
  SIXTEEN(make, 0x6) SIXTEEN(make, 0x7) SIXTEEN(make, 0x8) SIXTEEN(make, 0x9) SIXTEEN(make, 0xa)
// clang-format on
ALL(INNOCENT)

#define CALL(n) innocent_##n(mine);

static int value;

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

int main(int argc, char** argv) { return run_pair(work, argc, argv); }
