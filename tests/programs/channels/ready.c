// Readiness of a descriptor orders its writer's actions, even if it is never read.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "program.h"

int events[3], signals;
int polled, selected, in_set, signalled;

static void* sender(void* arg) {
  if (SAFE) polled = 1;
  eventfd_write(events[0], 1);
  if (!SAFE) polled = 2;  // RACE! poll
  tell(0);
  if (SAFE) selected = 1;
  eventfd_write(events[1], 1);
  if (!SAFE) selected = 2;  // RACE! select
  tell(1);
  if (SAFE) in_set = 1;
  eventfd_write(events[2], 1);
  if (!SAFE) in_set = 2;  // RACE! epoll
  tell(2);
  if (SAFE) signalled = 1;
  kill(getpid(), SIGUSR1);
  if (!SAFE) signalled = 2;  // RACE! signal
  tell(3);
  return NULL;
}

static void* receiver(void* arg) {
  struct pollfd one = {events[0], POLLIN, 0};
  poll(&one, 1, -1);
  await(0);
  use(polled);  // RACE! poll
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(events[1], &readable);
  select(events[1] + 1, &readable, NULL, NULL, NULL);
  await(1);
  use(selected);  // RACE! select
  const int set = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data = {.ptr = &in_set}}, happened;
  epoll_ctl(set, EPOLL_CTL_ADD, events[2], &wanted);
  epoll_wait(set, &happened, 1, -1);
  await(2);
  use(in_set);  // RACE! epoll
  struct signalfd_siginfo signal;
  if (read(signals, &signal, sizeof signal) != sizeof signal) return NULL;
  await(3);
  use(signalled);  // RACE! signal
  return NULL;
}

int main(void) {
  for (int i = 0; i < 3; ++i) events[i] = eventfd(0, 0);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  signals = signalfd(-1, &mask, 0);
  run_two(sender, receiver);
}
