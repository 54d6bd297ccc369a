// Two event loops, each with two descriptors that do not block and a timer: a loop that waited at
// one descriptor for what comes next would never look at the other.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kLoops = 2, kEach = 2, kRequests = 4, kTimer_ms = 50 };

static int ends[kLoops][kEach][2];  // [0]: the client's, [1]: the loop's
static int served;

// Everything that came; 0 at the end.
static int serve(int fd) {
  char byte;
  for (;;) {
    const ssize_t got = read(fd, &byte, 1);
    if (got < 0 && errno == EAGAIN) return 1;
    if (got <= 0) return 0;
    ++served;
    if (write(fd, &byte, 1) != 1) return 0;
  }
}

static void* loop(void* argument) {
  int(*mine)[2] = argument;
  const int epoll = epoll_create1(0);
  for (int i = 0; i < kEach; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = mine[i][1]};
    fcntl(mine[i][1], F_SETFL, O_NONBLOCK);
    epoll_ctl(epoll, EPOLL_CTL_ADD, mine[i][1], &event);
  }
  for (int open = kEach; open > 0;) {
    struct epoll_event events[kEach];
    const int count = epoll_wait(epoll, events, kEach, kTimer_ms);
    for (int i = 0; i < count; ++i) {
      if (serve(events[i].data.fd)) continue;
      epoll_ctl(epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL);
      --open;
    }
  }
  close(epoll);
  return NULL;
}

static void ask(int fd) {
  char byte = 'a';
  if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1) printf("no answer\n");
}

int main(void) {
  pthread_t loops[kLoops];
  for (int i = 0; i < kLoops; ++i)
    for (int j = 0; j < kEach; ++j) socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i][j]);
  for (int i = 0; i < kLoops; ++i) pthread_create(&loops[i], NULL, loop, ends[i]);
  for (int round = 0; round < kRequests; ++round)
    for (int i = 0; i < kLoops * kEach; ++i) {
      char byte = 'b';
      if (write(ends[0][i % kEach][0], &byte, 1) != 1)
        return 1;  // answered while the other is asked
      ask(ends[1][i % kEach][0]);
      if (read(ends[0][i % kEach][0], &byte, 1) != 1) return 1;
    }
  for (int i = 0; i < kLoops; ++i)
    for (int j = 0; j < kEach; ++j) close(ends[i][j][0]);
  for (int i = 0; i < kLoops; ++i) pthread_join(loops[i], NULL);
  printf("%s\n", served > 0 ? "served" : "nothing served");
  return 0;
}
