// build: flags=-fopenmp
// Every thread adds to a copy of its own; the copies are added up one after the other, and who
// wants the sum before the barrier has no order with that.
#include "program.h"

int data[64];
long sum, product = 1;

int main(void) {
  for (int i = 0; i < 64; ++i) data[i] = i;
#pragma omp parallel num_threads(2)
  {
#pragma omp for reduction(+ : sum) reduction(* : product) nowait  // RACE? sum
    for (int i = 0; i < 64; ++i) {
      sum += data[i];  // RACE? sum
      product *= 1;
    }
#if SAFE
#pragma omp barrier
#endif
    use((int)sum);  // RACE! sum
  }
  use((int)(sum + product));  // NORACE
}
