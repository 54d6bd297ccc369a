/* Serves until it reads a line: `threads` threads add to a plain and to a locked counter. Prints
 * its process id, and at the end whether the locked one is right. With a second number it kills
 * itself after so many rounds. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long plain, locked;
static atomic_long truth;
static atomic_int stop;
static long killed_at = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* serve(void* unused) {
  while (!atomic_load(&stop)) {
    plain = plain + 1;
    pthread_mutex_lock(&lock);
    locked = locked + 1;
    pthread_mutex_unlock(&lock);
    if (atomic_fetch_add(&truth, 1) == killed_at) kill(getpid(), SIGKILL);
    usleep(100);
  }
  return unused;
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 4;
  if (argc > 2) killed_at = atol(argv[2]);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], &small, serve, 0) != 0) return 3;
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (argc > 2) (void)pause();
  (void)getchar();
  atomic_store(&stop, 1);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], 0);
  printf(locked == atomic_load(&truth) ? "right\n" : "wrong\n");
  return locked == atomic_load(&truth) ? 0 : 1;
}
