// Load for a watch of the kernel: processes that share pipes, names, inodes and signals, two for
// each kind of work, until the time is over. What DRDDR took LTP's fsstress and racer and
// UnixBench's pipe test for (section 4.2), in one small program. usage: load SECONDS FOLDER
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int over(time_t end) { return time(NULL) >= end; }

static char name_of[4][256];
static int shared_pipe[2], shared_sockets[2];
static volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  signals++;
}

// Both ends of one pipe in several processes at once, as a shell's workers would have it.
static void pipe_writer(time_t end) {
  char bytes[700];
  memset(bytes, 'x', sizeof bytes);
  while (!over(end))
    if (write(shared_pipe[1], bytes, sizeof bytes) < 0 && errno != EINTR && errno != EAGAIN) break;
}

static void pipe_reader(time_t end) {
  char bytes[512];
  while (!over(end))
    if (read(shared_pipe[0], bytes, sizeof bytes) < 0 && errno != EINTR && errno != EAGAIN) break;
}

static void poller(time_t end) {
  while (!over(end)) {
    struct pollfd wanted[2] = {{shared_pipe[0], POLLIN, 0}, {shared_pipe[1], POLLOUT, 0}};
    struct timeval time = {0, 1000};
    fd_set set;
    poll(wanted, 2, 1);
    FD_ZERO(&set);
    FD_SET(shared_pipe[0], &set);
    FD_SET(shared_sockets[0], &set);
    select(shared_pipe[0] > shared_sockets[0] ? shared_pipe[0] + 1 : shared_sockets[0] + 1, &set,
           NULL, NULL, &time);
  }
}

static void socket_user(time_t end) {
  char bytes[64] = "hello";
  while (!over(end)) {
    send(shared_sockets[0], bytes, sizeof bytes, MSG_DONTWAIT);
    recv(shared_sockets[1], bytes, sizeof bytes, MSG_DONTWAIT);
  }
}

static void renamer(time_t end) {
  for (int i = 0; !over(end); ++i) {
    rename(name_of[i & 1], name_of[~i & 1]);
    rename(name_of[~i & 1], name_of[i & 1]);
    struct stat status;
    stat(name_of[0], &status);
  }
}

static void linker(time_t end) {
  while (!over(end)) {
    close(open(name_of[2], O_CREAT | O_RDWR, 0600));
    link(name_of[2], name_of[3]);
    unlink(name_of[3]);
    chmod(name_of[2], 0640);
    unlink(name_of[2]);
  }
}

static void small_files(time_t end) {
  char bytes[300] = "";
  while (!over(end)) {
    const int file = open(name_of[0], O_CREAT | O_RDWR | O_APPEND, 0600);
    struct stat status;
    if (file < 0) continue;
    if (write(file, bytes, sizeof bytes) < 0) break;
    fstat(file, &status);
    if (status.st_size > 65536) ftruncate(file, 0);
    if (pread(file, bytes, sizeof bytes, 0) < 0) break;
    close(file);
  }
}

static void signaller(time_t end) {
  while (!over(end)) {
    const pid_t child = fork();
    if (child == 0) {
      while (!over(end)) pause();
      _exit(0);
    }
    for (int i = 0; i < 50 && child > 0; ++i) kill(child, SIGUSR1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
}

static void *mapper(void *end) {
  while (!over(*(time_t *)end)) {
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    for (int i = 0; i < 65536; i += 4096) memory[i] = 1;
    munmap(memory, 65536);
  }
  return NULL;
}

static void threads(time_t end) {
  pthread_t one, two;
  pthread_create(&one, NULL, mapper, &end);
  pthread_create(&two, NULL, mapper, &end);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  const time_t end = time(NULL) + atoi(words[1]);
  for (int i = 0; i < 4; ++i) snprintf(name_of[i], sizeof name_of[i], "%s/name%d", words[2], i);
  if (pipe2(shared_pipe, O_NONBLOCK) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM, 0, shared_sockets) != 0)
    return 1;
  signal(SIGUSR1, on_signal);
  signal(SIGPIPE, SIG_IGN);
  void (*const kinds[])(time_t) = {pipe_writer, pipe_reader, poller,    socket_user, renamer,
                                   linker,      small_files, signaller, threads};
  for (unsigned i = 0; i < 2 * sizeof kinds / sizeof *kinds; ++i)
    if (fork() == 0) {
      kinds[i / 2](end);
      _exit(0);
    }
  while (wait(NULL) > 0 || errno == EINTR) {
  }
  return 0;
}
