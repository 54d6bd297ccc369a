// A product of two N x N matrices, rows dealt out to threads, then a histogram of the result's
// bytes: long loops over private and read-shared doubles, and short accesses that come back to few
// places.
//   matrix THREADS [N]
// Without a race; prints a checksum that does not depend on the number of threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxThreads = 64, kBins = 256 };

static double *left, *right, *product;
static long size, thread_count;
static long bins[kBins];
static pthread_mutex_t bins_lock = PTHREAD_MUTEX_INITIALIZER;

static void multiply_row(long row) {
  for (long column = 0; column < size; ++column) {
    double sum = 0;
    for (long k = 0; k < size; ++k) sum += left[row * size + k] * right[k * size + column];
    product[row * size + column] = sum;
  }
}

static void count_row(long row, long own[kBins]) {
  const unsigned char* const bytes = (const unsigned char*)&product[row * size];
  for (size_t i = 0; i < size * sizeof(double); ++i) ++own[bytes[i]];
}

static void* work(void* argument) {
  long* const own = calloc(kBins, sizeof(long));
  if (own == NULL) abort();
  for (long row = (long)argument; row < size; row += thread_count) {
    multiply_row(row);
    count_row(row, own);
  }
  pthread_mutex_lock(&bins_lock);
  for (int i = 0; i < kBins; ++i) bins[i] += own[i];
  pthread_mutex_unlock(&bins_lock);
  free(own);
  return NULL;
}

int main(int argc, char** argv) {
  thread_count = argc > 1 ? atol(argv[1]) : 0;
  size = argc > 2 ? atol(argv[2]) : 512;
  if (thread_count < 1 || thread_count > kMaxThreads || size < 1 || size > 16384) {
    fprintf(stderr, "usage: matrix THREADS [N], at most %d threads and N = 16384\n", kMaxThreads);
    return 2;
  }
  const size_t cells = (size_t)(size * size);
  left = malloc(cells * sizeof(double));
  right = malloc(cells * sizeof(double));
  product = malloc(cells * sizeof(double));
  if (left == NULL || right == NULL || product == NULL) abort();
  for (size_t i = 0; i < cells; ++i) {
    left[i] = (double)(i % 17) / 16;
    right[i] = (double)(i % 23) / 16;
  }
  pthread_t threads[kMaxThreads];
  for (long i = 0; i < thread_count; ++i)
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) abort();
  for (long i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  unsigned long sum = 0;
  for (int i = 0; i < kBins; ++i) sum = sum * 31 + (unsigned long)bins[i];
  printf("%lu\n", sum);
  free(left);
  free(right);
  free(product);
  return 0;
}
