// Load for a watch of the kernel: processes that share pipes, names, inodes, descriptors and
// signals until the time is over. What DRDDR took LTP's fsstress and racer and UnixBench's pipe
// test for (section 4.2), in one small program; few processes at a time, so that two that share
// something run at once. usage: load SECONDS FOLDER KIND...
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 32, kNames = 4 };

static time_t end;
static char folder[200], name_of[kNames][256];
static int shared_pipe[2], shared_sockets[2], shared_event;
static pid_t *pids;  // of all processes of the load
static int pid_count;
static volatile sig_atomic_t signals;

static int over(void) { return time(NULL) >= end; }

static void on_signal(int number) {
  (void)number;
  signals++;
}

// Both ends of one pipe in several processes at once, as a shell's workers would have it.
static void pipe_writer(void) {
  char bytes[700];
  memset(bytes, 'x', sizeof bytes);
  while (!over())
    if (write(shared_pipe[1], bytes, sizeof bytes) < 0 && errno != EINTR) break;
}

static void pipe_reader(void) {
  char bytes[512];
  while (!over())
    if (read(shared_pipe[0], bytes, sizeof bytes) < 0 && errno != EINTR) break;
}

static void poller(void) {
  const int most = shared_pipe[0] > shared_sockets[0] ? shared_pipe[0] : shared_sockets[0];
  for (int i = 0; !over(); ++i) {
    struct pollfd wanted[2] = {{shared_pipe[0], POLLIN, 0}, {shared_pipe[1], POLLOUT, 0}};
    struct timeval time = {0, i & 1 ? 500 : 0};
    fd_set set;
    poll(wanted, 2, 0);
    FD_ZERO(&set);
    if (i & 2) FD_SET(shared_pipe[0], &set);
    FD_SET(shared_sockets[0], &set);
    select(most + 1, &set, NULL, NULL, &time);
  }
}

static void socket_user(void) {
  char bytes[64] = "hello";
  while (!over()) {
    send(shared_sockets[0], bytes, sizeof bytes, MSG_DONTWAIT);
    recv(shared_sockets[1], bytes, sizeof bytes, MSG_DONTWAIT);
  }
}

// Signals to everybody else, who are interrupted wherever they are.
static void pinger(void) {
  for (int i = 0; !over(); ++i) {
    const pid_t to = pids[i % pid_count];
    if (to > 0 && to != getpid()) kill(to, SIGUSR1);
  }
}

static void renamer(void) {
  for (int i = 0; !over(); ++i) {
    rename(name_of[i & 1], name_of[~i & 1]);
    rename(name_of[~i & 1], name_of[i & 1]);
  }
}

static void linker(void) {
  while (!over()) {
    close(open(name_of[2], O_CREAT | O_RDWR, 0600));
    link(name_of[2], name_of[3]);
    unlink(name_of[3]);
    unlink(name_of[2]);
  }
}

static void small_files(void) {
  char bytes[300] = "";
  while (!over()) {
    const int file = open(name_of[0], O_CREAT | O_RDWR | O_APPEND, 0600);
    struct stat status;
    if (file < 0) continue;
    if (write(file, bytes, sizeof bytes) < 0) break;
    fstat(file, &status);
    if (status.st_size > 65536 && ftruncate(file, 0) != 0) break;
    if (pread(file, bytes, sizeof bytes, 0) < 0) break;
    close(file);
  }
}

static void changer(void) {
  const struct timespec times[2] = {{1000000, 5}, {2000000, 6}};
  for (int i = 0; !over(); ++i) {
    chmod(name_of[i % kNames], i & 1 ? 0640 : 0600);
    utimensat(AT_FDCWD, name_of[i % kNames], i & 1 ? NULL : times, 0);
    if (truncate(name_of[0], i & 4095) != 0 && errno != ENOENT) break;
  }
}

static void looker(void) {
  for (int i = 0; !over(); ++i) {
    struct stat status;
    stat(name_of[i % kNames], &status);
    lstat(folder, &status);
    access(name_of[i % kNames], R_OK);
    DIR *const listed = i & 7 ? NULL : opendir(folder);
    while (listed != NULL && readdir(listed) != NULL) {
    }
    if (listed != NULL) closedir(listed);
  }
}

static void forker(void) {
  while (!over()) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (!over()) pause();
      _exit(0);
    }
    for (int i = 0; i < 50 && child > 0; ++i) kill(child, SIGUSR1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
}

static void read_all(const char *path) {
  char bytes[1024];
  const int file = open(path, O_RDONLY);
  if (file < 0) return;
  while (read(file, bytes, sizeof bytes) > 0) {
  }
  close(file);
}

static void proc_reader(void) {
  static const char *const kFiles[] = {"stat", "status", "statm", "sched", "limits", "wchan"};
  for (unsigned i = 0; !over(); ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pids[i % (unsigned)pid_count],
             kFiles[i / 4 % 6]);
    read_all(path);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (i % 8 == 0) read_all("/proc/loadavg");
    if (i % 16 == 0) read_all("/proc/stat");
  }
}

static void *map(void *unused) {
  while (!over()) {
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    for (int i = 0; i < 65536; i += 4096) memory[i] = 1;
    mprotect(memory, 4096, PROT_READ);
    munmap(memory, 65536);
  }
  return unused;
}

// One table of descriptors for all threads of a process: one fills it, the others look into it.
static void *open_and_close(void *unused) {
  while (!over()) {
    const int copy = fcntl(shared_event, F_DUPFD_CLOEXEC, 40);
    const uint64_t one = 1;
    if (write(copy, &one, sizeof one) < 0 && errno != EAGAIN && errno != EBADF) break;
    fcntl(copy, F_SETFL, O_NONBLOCK | (signals & 1 ? O_APPEND : 0));
    close(copy);
  }
  return unused;
}

static void *use_descriptors(void *unused) {
  const int many = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  epoll_ctl(many, EPOLL_CTL_ADD, shared_event, &event);
  while (!over()) {
    uint64_t value;
    epoll_wait(many, &event, 1, 0);
    if (read(shared_event, &value, sizeof value) < 0 && errno != EAGAIN) break;
    fcntl(40, F_GETFL);
    fcntl(shared_event, F_GETFL);
  }
  return unused;
}

static void two(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t one, other;
  pthread_create(&one, NULL, first, NULL);
  pthread_create(&other, NULL, second, NULL);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
}

static void mapper(void) { two(map, map); }
static void descriptors(void) { two(open_and_close, use_descriptors); }

static const struct {
  const char *name;
  void (*run)(void);
} kKinds[] = {
    {"pipe_writer", pipe_writer}, {"pipe_reader", pipe_reader}, {"poller", poller},
    {"socket_user", socket_user}, {"pinger", pinger},           {"renamer", renamer},
    {"linker", linker},           {"small_files", small_files}, {"changer", changer},
    {"looker", looker},           {"forker", forker},           {"proc_reader", proc_reader},
    {"mapper", mapper},           {"descriptors", descriptors}};

static void start(const char *kind, int number) {
  for (unsigned i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (strcmp(kKinds[i].name, kind) != 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      kKinds[i].run();
      _exit(0);
    }
    pids[number] = child;
    return;
  }
  fprintf(stderr, "load: there is no kind %s\n", kind);
  exit(2);
}

int main(int count, char **words) {
  if (count < 4 || count - 3 > kMost) return 2;
  end = time(NULL) + atoi(words[1]);
  snprintf(folder, sizeof folder, "%s", words[2]);
  for (int i = 0; i < kNames; ++i)
    snprintf(name_of[i], sizeof name_of[i], "%s/name%d", words[2], i);
  pids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared_event = eventfd(0, EFD_NONBLOCK);
  if (pipe(shared_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, shared_sockets) != 0 ||
      pids == MAP_FAILED || shared_event < 0)
    return 1;
  signal(SIGUSR1, on_signal);
  signal(SIGPIPE, SIG_IGN);
  pid_count = count - 3;
  for (int i = 0; i < pid_count; ++i) start(words[3 + i], i);
  // A task that waits for the other end of the pipe when the time is over waits for ever.
  while (!over()) usleep(100000);
  usleep(300000);
  for (int i = 0; i < pid_count; ++i)
    if (pids[i] > 0) kill(pids[i], SIGKILL);
  while (wait(NULL) > 0 || errno == EINTR) {
  }
  return 0;
}
