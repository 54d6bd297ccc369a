// build: flags=-fopenmp
// What is inside `ordered` comes in the order of the iterations, what is beside it does not. A loop
// over one dimension that waits for the iteration before is in order too.
#include "program.h"

int last, chain[16];

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 16; ++i) {
      if (!SAFE) last = i;  // RACE!
#pragma omp ordered
      if (SAFE) last = i;  // NORACE
    }
#pragma omp for ordered(1) schedule(static, 1)
    for (int i = 1; i < 16; ++i) {
#pragma omp ordered depend(sink : i - 1)
      chain[i] = chain[i - 1] + 1;  // NORACE
#pragma omp ordered depend(source)
    }
  }
  use(last + chain[15]);
}
