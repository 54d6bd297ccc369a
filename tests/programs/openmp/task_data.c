// build: flags=-fopenmp both=no
// What a task has for itself: copies of variables, its frames, its thread's variables. The library
// and the stack use that memory again for the next task.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static __thread int mine;
int per_thread[64], total;

static int deep(int n) {
  int local[8];
  memset(local, n, sizeof local);  // NORACE
  return n == 0 ? local[3] : deep(n - 1) + local[n % 8];
}

static void own_memory(int n) {
  int here = n;
#pragma omp task shared(here)
  here += deep(n % 5);  // NORACE
#pragma omp taskwait
  char* const block = malloc(32);
  block[n % 32] = (char)here;  // NORACE
  use(block[n % 32]);
  free(block);
}

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 300; ++i) {
#pragma omp task firstprivate(i)
    {
      own_memory(i);
      if (!SAFE) total += i;  // RACE!
    }
#pragma omp task
    {
      ++mine;                              // NORACE
      ++per_thread[omp_get_thread_num()];  // NORACE
    }
  }
  use(per_thread[0] + total);
}
