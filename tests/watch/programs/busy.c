// A program that does what makes watching hard: threads come and go, children are forked and
// spawned, signals arrive, memory is shared. Counts its rounds; ends with 0 when its standard input
// does, with 1 when a round went wrong. Everything shared is under a lock.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds, failures;
static int stop;
static volatile sig_atomic_t ticks;

static void tick(int signal) {
  (void)signal;
  ticks++;
}

static int stopped(void) {
  pthread_mutex_lock(&lock);
  const int now = stop;
  pthread_mutex_unlock(&lock);
  return now;
}

static void count(int ok) {
  pthread_mutex_lock(&lock);
  rounds++;
  failures += !ok;
  pthread_mutex_unlock(&lock);
}

static void* short_lived(void* argument) {
  count(1);
  return argument;
}

static void* threads(void* unused) {
  while (!stopped()) {
    pthread_t one;
    void* got = 0;
    count(pthread_create(&one, 0, short_lived, &one) == 0 && pthread_join(one, &got) == 0 &&
          got == &one);
  }
  return unused;
}

static void* children(void* unused) {
  while (!stopped()) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
      // Only calls that are safe after a fork of a threaded program; but much of our own code.
      volatile long sum = 0;
      for (long i = 0; i < 1000; i++) sum += i;
      _exit(sum == 499500 ? 7 : 8);
    }
    waitpid(child, &status, 0);
    count(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pid_t spawned = 0;
    char* words[] = {"true", 0};
    status = -1;
    if (posix_spawnp(&spawned, "true", 0, 0, words, environ) == 0) waitpid(spawned, &status, 0);
    count(status == 0);
  }
  return unused;
}

static void* work(void* unused) {
  char buffer[256];
  while (!stopped()) {
    int ok = 1;
    for (int i = 0; i < 200; i++) {
      memset(buffer, i, sizeof buffer);
      ok &= buffer[i] == (char)i;
    }
    count(ok);
  }
  return unused;
}

int main(void) {
  signal(SIGUSR1, tick);
  void* (*const kinds[])(void*) = {threads, children, work, work};
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], 0, kinds[i], 0);
  puts("ready");
  fflush(stdout);
  struct pollfd input = {0, POLLIN, 0};
  while (poll(&input, 1, 20) == 0) kill(getpid(), SIGUSR1);
  pthread_mutex_lock(&lock);
  stop = 1;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
  printf("%ld rounds, %ld failures\n", rounds, failures);
  return failures != 0 || rounds == 0;
}
