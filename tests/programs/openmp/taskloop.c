// build: flags=-fopenmp both=no
// The parts of a taskloop are tasks, and waited for at its end; what they add up each thread adds
// to a copy.
#include "program.h"

int data[64], last;
long sum;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp taskloop num_tasks(8)
    for (int i = 0; i < 64; ++i) {
      data[i] = i;          // NORACE
      if (!SAFE) last = i;  // RACE!
    }
#pragma omp taskloop num_tasks(8) reduction(+ : sum)  // NORACE
    for (int i = 0; i < 64; ++i) sum += data[i];      // NORACE
    use((int)sum);                                    // NORACE
  }
}
