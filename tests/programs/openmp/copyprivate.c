// build: flags=-fopenmp
// One thread's value for all of them: handed over behind a barrier. Each thread has a copy.
#include "program.h"

static int value, shared_one;
#pragma omp threadprivate(value)

int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp single copyprivate(value)
    value = 7;                      // NORACE
    use(value);                     // NORACE
    ++value;                        // NORACE
    if (!SAFE) shared_one = value;  // RACE!
  }
  use(shared_one);
}
