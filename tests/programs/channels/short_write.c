// A socket that does not block takes a part of what it is offered: only that part was read.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "program.h"

enum { kSize = 8 << 20 };
int ends[2];
char first[kSize], second[64], third[kSize];

static void* sender(void* arg) {
  ssize_t sent = write(ends[0], first, kSize);  // RACE! written
  struct iovec parts[] = {{second, sizeof second}, {third, kSize}};
  ssize_t more = writev(ends[1], parts, 2);  // RACE! gathered
  tell(sent > 0 && sent < kSize && more > (ssize_t)sizeof second && more < kSize ? 0 : 1);
  return NULL;
}

static void* writer(void* arg) {
  await(0);
  first[SAFE ? kSize - 1 : 0] = 1;  // RACE! written
  third[SAFE ? kSize - 1 : 0] = 1;  // RACE! gathered
  return NULL;
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return 1;
  run_two(sender, writer);
}
