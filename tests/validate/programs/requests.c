/* requests SOCKET: a thread a connection; each request is a line with a number and is answered with
 * it. `served` is counted without a lock (a race), `sum` with one. SIGTERM prints the sum. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static long served, sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(long number) {
  served = served + 1;
  pthread_mutex_lock(&lock);
  sum = sum + number;
  pthread_mutex_unlock(&lock);
}

static void* serve(void* connection) {
  FILE* file = connection;
  char line[64];
  while (fgets(line, sizeof line, file) != NULL) {
    take(atol(line));
    fflush(file);
    if (fputs(line, file) == EOF || fflush(file) == EOF) break;
  }
  fclose(file);
  return NULL;
}

static void* end(void* signals) {
  int which;
  sigwait(signals, &which);
  pthread_mutex_lock(&lock);
  printf("%ld\n", sum);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char** argv) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (argc != 2 || strlen(argv[1]) >= sizeof name.sun_path) return 2;
  strcpy(name.sun_path, argv[1]);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, end, &signals);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&name, sizeof name) != 0 || listen(listener, 64) != 0)
    return 1;
  puts("ready");
  fflush(stdout);
  for (;;) {
    int connection = accept(listener, NULL, NULL);
    if (connection < 0) continue;
    pthread_create(&thread, NULL, serve, fdopen(connection, "r+"));
    pthread_detach(thread);
  }
}
