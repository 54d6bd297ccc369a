// build: both=no
// A ring of two places between a producer and a consumer: the n-th free place needs the n-th post
// of the consumer, whatever it posted since. The racy consumer gives a place back too early.
// (A trace does not say how many tokens there were: there every earlier post orders.)
#include <semaphore.h>

#include "program.h"

enum { kPlaces = 2, kRounds = 20 };

sem_t places, items;
long ring[kPlaces];

static void* producer(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    sem_wait(&places);
    if (i > 0 && i == kPlaces) await(0);  // both posts of the consumer are there already
    ring[i % kPlaces] = i;                // RACE!
    sem_post(&items);
  }
  return NULL;
}

static void* consumer(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    sem_wait(&items);
    if (!SAFE) sem_post(&places);
    use(ring[i % kPlaces]);  // RACE!
    if (SAFE) sem_post(&places);
    if (i == kPlaces - 1) tell(0);
  }
  return NULL;
}

int main(void) {
  sem_init(&places, 0, kPlaces);
  sem_init(&items, 0, 0);
  run_two(producer, consumer);
}
