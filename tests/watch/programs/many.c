// argv[1] threads: two race, one starts and joins others all the time, the rest wait. Runs for
// argv[2] seconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static int stopped, value;
static atomic_int stop;

__attribute__((noinline)) static void write_value(int number) { value = number; }
__attribute__((noinline)) static int read_value(void) { return value; }

static void* writer(void* unused) {
  for (int i = 0; atomic_fetch_add(&stop, 0) == 0; i++) write_value(i);
  return unused;
}

static void* reader(void* unused) {
  long sum = 0;
  while (atomic_fetch_add(&stop, 0) == 0) sum += read_value();
  return sum == 1 ? 0 : unused;
}

static void* waiter(void* unused) {
  pthread_mutex_lock(&lock);
  while (!stopped) pthread_cond_wait(&over, &lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void* nothing(void* unused) { return unused; }

static void* starter(void* unused) {
  while (atomic_fetch_add(&stop, 0) == 0) {
    pthread_t one;
    if (pthread_create(&one, 0, nothing, 0) == 0) pthread_join(one, 0);
  }
  return unused;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 2;
  pthread_t* const all = calloc((size_t)count, sizeof *all);
  for (int i = 0; i < count; i++)
    pthread_create(&all[i], 0, i == 0 ? writer : i == 1 ? reader : i == 2 ? starter : waiter, 0);
  sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
  atomic_fetch_add(&stop, 1);
  pthread_mutex_lock(&lock);
  stopped = 1;
  pthread_cond_broadcast(&over);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < count; i++) pthread_join(all[i], 0);
  free(all);
  puts("done");
  return 0;
}
