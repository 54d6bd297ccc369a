// RANGES ranges that the program calls benign; both threads race on the last one.
#include <pthread.h>
#include <stddef.h>

void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, size_t size,
                             const char* why);

long values[2 * RANGES];  // every second one: neighbours are no single range

static void* worker(void* unused) {
  values[2 * (RANGES - 1)] += 1;
  return unused;
}

int main(void) {
  for (int again = 0; again < 2; ++again)  // saying it twice takes no second place
    for (int i = 0; i < RANGES; ++i)
      AnnotateBenignRaceSized(__FILE__, __LINE__, &values[2 * i], sizeof(long), "statistics");
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
