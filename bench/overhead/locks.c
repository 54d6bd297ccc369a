// A hash table under striped locks: short critical sections, short-lived entries.
// locks THREADS [N]. Without a race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct entry {
  unsigned key;
  int value;
  struct entry* next;
};
static struct {
  pthread_mutex_t m;
  struct entry* first;
} table[64];
static int threads, n;
static void* work(void* arg) {
  unsigned seed = (unsigned)(long)arg + 1;
  long hits = 0;
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    unsigned k = seed >> 16 & 1023;
    pthread_mutex_lock(&table[k % 64].m);
    struct entry** at = &table[k % 64].first;
    while (*at && (*at)->key != k) at = &(*at)->next;
    if (*at) {
      hits++;
      if ((*at)->value++ > 3) {
        struct entry* e = *at;
        *at = e->next;
        free(e);
      }
    } else {
      struct entry* e = malloc(sizeof *e);
      e->key = k;
      e->value = 0;
      e->next = 0;
      *at = e;
    }
    pthread_mutex_unlock(&table[k % 64].m);
  }
  return (void*)hits;
}
int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  n = argc > 2 ? atoi(argv[2]) : 50000;
  pthread_t t[64];
  long s = 0;
  for (int i = 0; i < 64; i++) pthread_mutex_init(&table[i].m, 0);
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < threads; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld\n", s);
  return 0;
}
