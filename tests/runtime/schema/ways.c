// argv[1] says how it goes: a race of each kind of location, a deadlock, or a crash.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long global;
static long* heap;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const char* way = "race";

static void* worker(void* local) {
  if (strcmp(way, "deadlock") == 0) pthread_rwlock_rdlock(&rwlock);
  if (strcmp(way, "crash") == 0) abort();
  pthread_mutex_lock(&mutex);
  global += 1;
  pthread_mutex_unlock(&mutex);
  *heap += 1;
  *(long*)local += 1;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1) way = argv[1];
  long local = 0;
  heap = calloc(1, sizeof *heap);
  if (strcmp(way, "deadlock") == 0) pthread_rwlock_wrlock(&rwlock);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, worker, &local);
  global += 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  free(heap);
}
