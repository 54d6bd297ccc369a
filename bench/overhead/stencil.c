// A five-point stencil over rows of doubles; threads meet at a barrier after each step.
// stencil THREADS [N [STEPS]]. Without a race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int threads, n, steps;
static double* grid[2];
static pthread_barrier_t barrier;
static void* work(void* arg) {
  long me = (long)arg;
  int lo = 1 + me * (n - 2) / threads, hi = 1 + (me + 1) * (n - 2) / threads;
  for (int s = 0; s < steps; s++) {
    const double* a = grid[s & 1];
    double* b = grid[~s & 1];
    for (int i = lo; i < hi; i++)
      for (int j = 1; j < n - 1; j++)
        b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] +
                              a[(i - 1) * n + j] + a[(i + 1) * n + j]);
    pthread_barrier_wait(&barrier);
  }
  return 0;
}
int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  n = argc > 2 ? atoi(argv[2]) : 256;
  steps = argc > 3 ? atoi(argv[3]) : 100;
  for (int g = 0; g < 2; g++) {
    grid[g] = malloc(sizeof(double) * n * n);
    for (int i = 0; i < n * n; i++) grid[g][i] = i % 7;
  }
  pthread_barrier_init(&barrier, 0, threads);
  pthread_t t[64];
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
  printf("%g\n", grid[0][n * n / 2 + n / 2]);
  return 0;
}
