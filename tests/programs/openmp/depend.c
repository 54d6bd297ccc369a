// build: flags=-fopenmp both=no
// depend clauses order tasks that name the same variable, if one of them writes it.
#include "program.h"

int made, seen[2], chain;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    for (int i = 0; i < 8; ++i) {
#pragma omp task depend(inout : chain)
      ++chain;  // NORACE
    }
#pragma omp task depend(out : made)
    made = 1;  // RACE!
    for (int i = 0; i < 2; ++i) {
#if SAFE
#pragma omp task depend(in : made)
#else
#pragma omp task depend(in : seen[i])
#endif
      seen[i] = made;  // RACE!
    }
  }
  use(chain + seen[0] + seen[1]);  // NORACE
}
