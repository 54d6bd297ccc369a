// Functions of the C library read and write for the program: their accesses race with its own. With
// SAFE everything is under a lock.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char measured[] = "measured", searched[] = "searched", compared[] = "compared";
static char printed[] = "printed", sent[] = "sent", formatted[] = "formatted", filled[] = "filled";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE* nowhere;
static int pipes[2];
volatile size_t sink;

static void begin(void) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
}

static void end(void) {
#ifdef SAFE
  pthread_mutex_unlock(&lock);
#endif
}

static void* library(void* unused) {
  begin();
  sink = strlen(measured);
  sink = strchr(searched, 'h') != NULL;
  sink = (size_t)strcmp(compared, "compare");
  sink = fwrite(printed, 1, sizeof printed, nowhere);
  sink = (size_t)write(pipes[1], sent, sizeof sent);
  sink = (size_t)snprintf(formatted, sizeof formatted, "%d", getpid());
  sink = (size_t)read(pipes[0], filled, 4);
  end();
  return unused;
}

static void* own(void* unused) {
  begin();
  measured[0] = 'M';
  searched[0] = 'S';
  compared[0] = 'C';
  printed[0] = 'P';
  sent[0] = 'S';
  formatted[0] = 'F';
  filled[0] = 'F';
  end();
  return unused;
}

int main(void) {
  nowhere = fopen("/dev/null", "w");
  if (nowhere == NULL || pipe(pipes) != 0) return 9;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, library, NULL);
  pthread_create(&threads[1], NULL, own, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return pthread_mutex_destroy(&lock);
}
