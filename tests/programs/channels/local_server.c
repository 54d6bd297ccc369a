// socket, bind, listen, accept, connect: what the client did before connecting is ordered before
// accept returns.
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "program.h"

int listener, data;
struct sockaddr_un address = {.sun_family = AF_UNIX};
socklen_t address_size;

static void* client(void* arg) {
  int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (SAFE) data = 1;
  connect(connection, (struct sockaddr*)&address, address_size);
  char byte = 1;
  if (write(connection, &byte, 1) != 1) return NULL;
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* server(void* arg) {
  int connection = accept(listener, NULL, NULL);
  char byte;
  if (read(connection, &byte, 1) != 1) return NULL;
  await(0);
  use(data);  // RACE!
  return NULL;
}

int main(void) {
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  // An abstract name that the kernel chooses: nothing is left in the file system.
  if (bind(listener, (struct sockaddr*)&address, sizeof(sa_family_t)) != 0) return 1;
  address_size = sizeof address;
  getsockname(listener, (struct sockaddr*)&address, &address_size);
  listen(listener, 1);
  run_two(client, server);
}
