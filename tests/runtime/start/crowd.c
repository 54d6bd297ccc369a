// A race between two of N threads, then M forked children, with G gigabytes mapped and as many
// allocated, untouched.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;
static pthread_barrier_t all_there;

static void* work(void* racing) {
  pthread_barrier_wait(&all_there);
  if (racing != NULL) shared++;
  return NULL;
}

static int run_threads(int count) {
  pthread_t* threads = malloc((size_t)count * sizeof *threads);
  pthread_barrier_init(&all_there, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, work, i < 2 ? &shared : NULL) != 0) return 3;
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
  return 0;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const size_t size = (size_t)atol(words[3]) << 30;
  char* mapped = NULL;
  if (size > 0) {
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (mapped == MAP_FAILED) return 4;
  }
  const int failed = run_threads(atoi(words[1]));
  if (failed != 0) return failed;
  for (int i = 0; i < atoi(words[2]); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      shared = i;
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 5;
  }
  if (mapped != NULL) {
    mapped[5] = 1;
    munmap(mapped, size);
  }
  puts("done");
  return 0;
}
