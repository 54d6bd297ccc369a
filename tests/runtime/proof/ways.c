// Two threads are ordered in a way that is not followed: argument aio, timer or terminal. Without
// one they race.
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char* way;
int data;
static int ends[2], outer, inner;
static sem_t expired;

static void expire(union sigval value) { sem_post(&expired); }

static void* first(void* arg) {
  data = 1;
  if (strcmp(way, "aio") == 0 && write(ends[1], "x", 1) != 1) abort();
  if (strcmp(way, "terminal") == 0 && write(outer, "x\n", 2) != 2) abort();
  if (strcmp(way, "timer") == 0) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
  }
  return arg;
}

static void* second(void* arg) {
  char line[4];
  if (strcmp(way, "aio") == 0) {
    struct aiocb request = {.aio_fildes = ends[0], .aio_buf = line, .aio_nbytes = 1};
    const struct aiocb* const requests[] = {&request};
    aio_read(&request);
    aio_suspend(requests, 1, NULL);
  }
  if (strcmp(way, "terminal") == 0 && read(inner, line, sizeof line) <= 0) abort();
  if (strcmp(way, "timer") == 0) sem_wait(&expired);
  data = 2;
  return arg;
}

int main(int count, char** arguments) {
  way = count > 1 ? arguments[1] : "";
  if (pipe(ends) != 0) return 1;
  sem_init(&expired, 0, 0);
  if (strcmp(way, "terminal") == 0) {
    outer = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(outer);
    unlockpt(outer);
    inner = open(ptsname(outer), O_RDWR | O_NOCTTY);
  }
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}
