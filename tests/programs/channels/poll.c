// epoll_wait and poll say that there is something to read; reading it gives the order.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "program.h"

int ends[2], data;

static void* sender(void* arg) {
  char byte = 1;
  if (SAFE) data = 1;
  if (write(ends[1], &byte, 1) != 1) return NULL;
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  int set = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN}, happened;
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &wanted);
  epoll_wait(set, &happened, 1, -1);
  struct pollfd polled = {ends[0], POLLIN, 0};
  poll(&polled, 1, -1);
  char byte;
  if (read(ends[0], &byte, 1) != 1) return NULL;
  await(0);
  use(data);  // RACE!
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  run_two(sender, receiver);
}
