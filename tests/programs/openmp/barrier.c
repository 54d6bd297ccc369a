// build: flags=-fopenmp
// Each thread writes a cell and reads its neighbour's. A loop ends with a barrier, unless it says
// nowait.
#include "program.h"

int cells[2], doubled[2];

static void rounds(void) {
  for (int round = 0; round < 20; ++round) {
#if SAFE
#pragma omp for
#else
#pragma omp for nowait
#endif
    for (int i = 0; i < 2; ++i) cells[i] = round;  // RACE!
#pragma omp for
    for (int i = 0; i < 2; ++i) doubled[i] = 2 * cells[1 - i];  // RACE!
  }
}

int main(void) {
#pragma omp parallel num_threads(2)
  {
    rounds();
#pragma omp barrier
    use(doubled[0] + doubled[1]);  // NORACE
  }
}
