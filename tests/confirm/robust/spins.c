// Loops that wait for another thread: one that yields, and one that does not, on something that is
// no synchronisation and whose accesses are switched off in a trial of another race.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_int ready;
volatile int plain;
int first, second;

static void* work(void* unused) {
  first = 1;
  atomic_store(&ready, 1);
  plain = 1;
  second = 1;
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 2;
  while (atomic_load(&ready) == 0) sched_yield();
  first = 2;  // ordered
  while (plain == 0) {
  }
  second = 2;  // races
  pthread_join(thread, NULL);
  return 0;
}
