// A fork in the middle, while another thread runs; parent and child go on with threads.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* unused) {
  ++shared;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void run_two(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) _exit(2);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 2;
  const pid_t child = fork();
  if (child == 0) {
    run_two();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  pthread_join(thread, NULL);
  run_two();
  return status != 0;
}
