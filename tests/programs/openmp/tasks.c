// build: flags=-fopenmp both=no
// Two tasks have no order, also where one thread runs both of them: another run may not (a trace
// only knows threads). taskwait is for children only.
#include "program.h"

int plain, waited, grandchild, grouped;

static void family(void) {
#pragma omp task
  {
#pragma omp task
    grandchild = 1;  // RACE! grandchild
#if SAFE
#pragma omp taskwait
#endif
  }
#pragma omp taskwait
  use(grandchild);  // RACE! grandchild
}

static void group(void) {
#pragma omp taskgroup
  {
#pragma omp task
    {
#pragma omp task
      grouped = 1;  // NORACE
    }
  }
  use(grouped);  // NORACE
}

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    plain = 1;  // RACE! plain
#if SAFE
#pragma omp taskwait
#endif
#pragma omp task
    plain = 2;  // RACE! plain
#pragma omp task
    waited = 1;  // NORACE
#pragma omp taskwait
    waited = 2;  // NORACE
    family();
    group();
  }
  use(plain);  // NORACE
}
