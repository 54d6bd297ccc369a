// Who received the bytes may use the buffer that they came from: the sender has read it.
#include <sys/socket.h>
#include <unistd.h>

#include "program.h"

int ends[2], sockets[2];
char line[64], message[64];

static void* sender(void* arg) {
  if (write(ends[1], line, sizeof line) < 0) return NULL;             // RACE! line
  if (send(sockets[1], message, sizeof message, 0) < 0) return NULL;  // RACE! message
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  char got[64];
  if (!SAFE) await(0);
  if (SAFE && read(ends[0], got, sizeof got) != sizeof got) return NULL;
  line[0] = 1;  // RACE! line
  if (SAFE && recv(sockets[0], got, sizeof got, 0) != sizeof got) return NULL;
  message[0] = 1;  // RACE! message
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  run_two(sender, receiver);
}
