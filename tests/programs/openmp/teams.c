// build: flags=-fopenmp
// Regions inside regions, one after the other: each is joined before the next.
#include <omp.h>

#include "program.h"

int outer[2], inner[2][2], shared_one;

int main(void) {
  omp_set_max_active_levels(2);
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(2)
    {
      const int me = omp_get_thread_num();
      outer[me] = round;  // NORACE
#pragma omp parallel num_threads(2)
      {
        inner[me][omp_get_thread_num()] = outer[me];  // NORACE
        if (!SAFE && round == 2) shared_one = me;     // RACE!
      }
      use(inner[me][0] + inner[me][1]);  // NORACE
    }
    use(outer[0] + outer[1]);  // NORACE
  }
}
