// Most of it before the first thread and after the last: reading, sorting, counting.
// solo THREADS [N]. Without a race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int n;
static unsigned* data;
static long found;
static void heap_sort(unsigned* a, int k) {
  for (int s = k / 2 - 1; s >= 0; s--) {
    int r = s;
    for (;;) {
      int c = 2 * r + 1;
      if (c >= k) break;
      if (c + 1 < k && a[c] < a[c + 1]) c++;
      if (a[r] >= a[c]) break;
      unsigned t = a[r];
      a[r] = a[c];
      a[c] = t;
      r = c;
    }
  }
  for (int e = k - 1; e > 0; e--) {
    unsigned t = a[0];
    a[0] = a[e];
    a[e] = t;
    int r = 0;
    for (;;) {
      int c = 2 * r + 1;
      if (c >= e) break;
      if (c + 1 < e && a[c] < a[c + 1]) c++;
      if (a[r] >= a[c]) break;
      t = a[r];
      a[r] = a[c];
      a[c] = t;
      r = c;
    }
  }
}
static void* work(void* arg) {
  long me = (long)arg, c = 0;
  for (int i = me; i < n; i += 2) c += data[i] & 1;
  __atomic_fetch_add(&found, c, __ATOMIC_RELAXED);
  return 0;
}
int main(int argc, char** argv) {
  int threads = 2;
  n = argc > 2 ? atoi(argv[2]) : 200000;
  data = malloc(sizeof *data * n);
  unsigned s = 1;
  for (int i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    data[i] = s >> 4;
  }
  heap_sort(data, n);
  pthread_t t[2];
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
  for (int i = 0; i < n; i++) data[i] = data[i] * 2654435761u;
  heap_sort(data, n);
  printf("%u %ld\n", data[n / 2], found);
  return 0;
}
