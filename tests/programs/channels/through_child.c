// Another process passes on what one thread wrote to it, and its end tells who caused it. What the
// sender does once the receiver has read comes too late to be passed on.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

int to_child[2], from_child[2];
pid_t relay, sleeper;
int relayed, killed;

static void* sender(void* arg) {
  char byte = 1;
  if (SAFE) relayed = 1;
  if (write(to_child[1], &byte, 1) != 1) return NULL;
  await(2);
  if (!SAFE) relayed = 2;  // RACE! relay
  tell(0);
  if (SAFE) killed = 1;
  kill(sleeper, SIGKILL);
  if (!SAFE) killed = 2;  // RACE! end
  tell(1);
  return NULL;
}

static void* receiver(void* arg) {
  char byte;
  if (read(from_child[0], &byte, 1) != 1) return NULL;
  tell(2);
  await(0);
  use(relayed);  // RACE! relay
  waitpid(sleeper, NULL, 0);
  await(1);
  use(killed);  // RACE! end
  return NULL;
}

int main(void) {
  char byte;
  if (pipe(to_child) != 0 || pipe(from_child) != 0) return 1;
  relay = fork();
  if (relay == 0) {
    if (read(to_child[0], &byte, 1) == 1 && write(from_child[1], &byte, 1) == 1) _exit(0);
    _exit(1);
  }
  sleeper = fork();
  while (sleeper == 0) pause();
  run_two(sender, receiver);
  waitpid(relay, NULL, 0);
}
