// Races, and leaves a daemon and its child behind, each in a session of its own, the child with an
// empty environment. Their numbers go to the file "members". While a file "stay" is there, the
// program does not end.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int shared;

static void* add(void* unused) {
  ++shared;
  return unused;
}

static void note(int pid) {
  char text[32];
  const int size = snprintf(text, sizeof text, "%d\n", pid);
  const int file = open("members", O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0 || write(file, text, (size_t)size) != size) _exit(9);
  close(file);
}

int main(int count, char** words) {
  if (count > 1) {  // the daemon's child
    setsid();
    note(getpid());
    for (;;) pause();
  }
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, add, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  if (fork() == 0) {
    setsid();
    note(getpid());
    char* const command[] = {words[0], "child", NULL};
    char* const nothing[] = {NULL};
    if (fork() == 0) execve(words[0], command, nothing), _exit(9);
    for (;;) pause();
  }
  signal(SIGTERM, SIG_IGN);
  while (access("stay", F_OK) == 0) pause();
}
