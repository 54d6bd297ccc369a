// Both directions of a socket pair, by send/recv and by sendmsg/recvmsg.
#include <sys/socket.h>
#include <sys/uio.h>

#include "program.h"

int ends[2], question, answer;

static void* client(void* arg) {
  char byte = 1;
  question = 1;  // NORACE
  send(ends[0], &byte, 1, 0);
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  recvmsg(ends[0], &message, 0);
  await(0);
  use(answer);  // RACE!
  return NULL;
}

static void* server(void* arg) {
  char byte;
  recv(ends[1], &byte, 1, 0);
  use(question);  // NORACE
  if (SAFE) answer = 1;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  sendmsg(ends[1], &message, 0);
  if (!SAFE) answer = 2;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  run_two(client, server);
}
