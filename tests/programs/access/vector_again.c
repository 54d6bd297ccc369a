// A vector of which the thread accessed a part before, in the same tick: the rest counts, and so do
// the words on both sides of a boundary of four gigabytes.
// build: both=no
#define _GNU_SOURCE
#include <sys/mman.h>

#include "program.h"

typedef double vector __attribute__((vector_size(32), aligned(8), may_alias));

enum { kPage = 4096 };
double plain[8];
double* boundary;

static void* whole(void* arg) {
  plain[0] = 1;
  plain[1] = 2;
  plain[2] = 3;
  keep(plain);
  *(vector*)plain = (vector){1, 2, 3, 4};  // RACE! plain
  boundary[-1] = 1;
  keep(boundary);
  *(vector*)(boundary - 1) = (vector){1, 2, 3, 4};  // RACE! boundary
  return NULL;
}

static void* part(void* arg) {
  plain[SAFE ? 4 : 3] = 1;     // RACE! plain
  boundary[SAFE ? 3 : 2] = 1;  // RACE! boundary
  return NULL;
}

int main(void) {
  char* const wanted = (char*)0x320000000000 - kPage;
  char* const got = mmap(wanted, 2 * kPage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) return 1;
  boundary = (double*)(got + kPage);
  run_two(whole, part);
}
