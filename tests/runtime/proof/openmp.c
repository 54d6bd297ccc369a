// A race in a parallel loop, and its twin with a reduction.
int sum;

int main(void) {
#if SAFE
#pragma omp parallel for num_threads(2) reduction(+ : sum)
#else
#pragma omp parallel for num_threads(2)
#endif
  for (int i = 0; i < 100; ++i) sum += i;
  return sum == 0;
}
