// build: flags=-fopenmp
// Two sections have no order; what one thread does alone is before all others only with a barrier.
#include <omp.h>

#include "program.h"

int by_master, by_single, parts[2];

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp sections
    {
#pragma omp section
      parts[0] = 1;  // NORACE
#pragma omp section
      parts[1] = 2;  // NORACE
    }
    use(parts[0] + parts[1]);  // NORACE
#pragma omp master
    by_master = 3;  // RACE!
#if SAFE
#pragma omp barrier
#endif
    use(by_master);  // RACE!
#pragma omp single
    by_single = 4;   // NORACE
    use(by_single);  // NORACE
  }
}
