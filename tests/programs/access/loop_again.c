// A loop over the same memory twice, with something between that makes the second one count: a
// release, or new memory at the same place.
#include "program.h"

void AnnotateNewMemory(const char* file, int line, const volatile void* begin, long size);

enum { kWords = 64 };
long array[kWords], pooled[kWords];
int order = kWords;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void fill(long* words, int size) {
  for (int i = 0; i < size; ++i) words[i] = i;  // RACE!
}

static void pass(pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

static void first(void) {
  fill(array, order);
  fill(array, order);
  pass(&lock);
  tell(0);
  await(1);
  fill(array, order);
  fill(pooled, order);
  AnnotateNewMemory(__FILE__, __LINE__, pooled, sizeof pooled);
  fill(pooled, order);
  if (SAFE) pass(&lock);
  tell(2);
}

static void* second(void* arg) {
  long* const words = array;
  const int size = order;
  await(0);
  pass(&lock);
  tell(1);
  await(2);
  if (SAFE) pass(&lock);
  for (int i = 0; i < size; ++i) words[i] += 2;  // RACE!
  tell(3);
  return NULL;
}

static void* third(void* arg) {
  static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;  // says in a trace when it is here
  long* const words = pooled;
  const int size = order;
  await(3);
  pass(SAFE ? &lock : &own);
  for (int i = 0; i < size; ++i) words[i] += 3;  // RACE!
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, third, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  first();
  pthread_join(threads[1], NULL);
  pthread_join(threads[0], NULL);
}
