/* Four threads that do nothing but meet the sites of a candidate, at bytes of their own and at
 * common ones, and a lock. Serves until it reads a line. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static long apart[2][32];
static volatile long same;
static atomic_int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* mine) {
  volatile long* at = mine;
  while (!atomic_load(&stop)) {
    at[0] = at[0] + 1;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  return mine;
}

static void* second(void* mine) {
  volatile long* at = mine;
  while (!atomic_load(&stop)) {
    at[0] = at[0] + 2;
    same = same + 1;
  }
  return mine;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], 0, i % 2 ? second : first, &apart[i % 2][i / 2 * 16]);
  printf("%d\n", (int)getpid());
  fflush(stdout);
  (void)getchar();
  atomic_store(&stop, 1);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  puts("right");
  return 0;
}
