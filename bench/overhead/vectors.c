// Loops that compilers vectorise: sums, scaled additions, a table of bytes.
// vectors THREADS [N [TURNS]]. Without a race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int threads, n, turns;
static float *xs[64], *ys[64];
static unsigned char* bs[64];
static void* work(void* arg) {
  long me = (long)arg;
  float *x = xs[me] = malloc(sizeof(float) * n), *y = ys[me] = malloc(sizeof(float) * n);
  unsigned char* b = bs[me] = malloc(n);
  for (int i = 0; i < n; i++) {
    x[i] = i + me;
    y[i] = 1;
    b[i] = i;
  }
  double* total = malloc(8);
  *total = 0;
  for (int t = 0; t < turns; t++) {
    for (int i = 0; i < n; i++) y[i] = y[i] * 0.5f + x[i];
    for (int i = 0; i < n; i++) b[i] ^= (unsigned char)t;
    int s = 0;
    for (int i = 0; i < n; i++) s += b[i];
    *total += s + y[t % n];
  }
  return total;
}
int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  n = argc > 2 ? atoi(argv[2]) : 16384;
  turns = argc > 3 ? atoi(argv[3]) : 100;
  pthread_t t[64];
  double sum = 0;
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < threads; i++) {
    void* r;
    pthread_join(t[i], &r);
    sum += *(double*)r;
  }
  printf("%g\n", sum);
  return 0;
}
