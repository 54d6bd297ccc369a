// Order through the kernel: futexes, descriptors, signals, processes, files (ways.h).
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <string>

#include "ways.h"

static std::atomic<uint32_t> word;
SIGNAL(futex) {
  word.store(1, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}
AWAIT(futex) {
  while (word.load(std::memory_order_acquire) == 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

static int event = eventfd(0, 0);
SIGNAL(eventfd) { eventfd_write(event, 1); }
AWAIT(eventfd) {
  eventfd_t value;
  eventfd_read(event, &value);
}

static int loop_event = eventfd(0, EFD_NONBLOCK), loop = epoll_create1(0);
// An event loop that never reads what wakes it.
SIGNAL(epoll_edge) { eventfd_write(loop_event, 1); }
AWAIT(epoll_edge) {
  epoll_event wanted = {};
  wanted.events = EPOLLIN | EPOLLET;
  wanted.data.ptr = &loop_event;
  epoll_ctl(loop, EPOLL_CTL_ADD, loop_event, &wanted);
  while (epoll_wait(loop, &wanted, 1, -1) != 1) nap();
}

static int ends[2], made = pipe(ends);
SIGNAL(pipe_poll) {
  if (write(ends[1], "x", 1) != 1) abort();
}
AWAIT(pipe_poll) {
  pollfd wanted = {ends[0], POLLIN, 0};
  while (poll(&wanted, 1, -1) != 1) nap();
}

static int stream_ends[2], stream_made = pipe(stream_ends);
SIGNAL(stdio) {
  FILE* const out = fdopen(stream_ends[1], "w");
  fputs("line\n", out);
  fflush(out);
}
AWAIT(stdio) {
  char line[16];
  if (fgets(line, sizeof line, fdopen(stream_ends[0], "r")) == nullptr) abort();
}

static int sockets[2], sockets_made = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets);
SIGNAL(sendmsg) {
  iovec part = {const_cast<char*>("x"), 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  sendmsg(sockets[1], &message, 0);
}
AWAIT(sendmsg) {
  char byte;
  while (recv(sockets[0], &byte, 1, 0) != 1) nap();
}

static int hang_up[2], hang_up_made = pipe(hang_up);
SIGNAL(close) { close(hang_up[1]); }
AWAIT(close) {
  char byte;
  if (read(hang_up[0], &byte, 1) != 0) abort();
}

static std::atomic<pthread_t> waiter{};
SIGNAL(sigwait) {
  while (waiter.load(std::memory_order_relaxed) == 0) nap();
  pthread_kill(waiter.load(std::memory_order_relaxed), SIGUSR1);
}
AWAIT(sigwait) {
  waiter.store(pthread_self(), std::memory_order_relaxed);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  int number = 0;
  sigwait(&set, &number);
}

static volatile sig_atomic_t handled;
static std::atomic<pthread_t> handles{};
SIGNAL(handler) {
  signal(SIGUSR2, [](int) { handled = 1; });
  while (handles.load(std::memory_order_acquire) == 0) nap();
  pthread_kill(handles.load(std::memory_order_relaxed), SIGUSR2);
}
AWAIT(handler) {
  handles.store(pthread_self(), std::memory_order_release);
  while (!handled) nap();
}

SIGNAL(signalfd) { kill(getpid(), SIGWINCH); }
AWAIT(signalfd) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  signalfd_siginfo told;
  const int fd = signalfd(-1, &set, 0);
  if (read(fd, &told, sizeof told) != sizeof told) abort();
  close(fd);
}

static int timer = timerfd_create(CLOCK_MONOTONIC, 0);
SIGNAL(timerfd) {
  const itimerspec soon = {{0, 0}, {0, 1}};
  timerfd_settime(timer, 0, &soon, nullptr);
}
AWAIT(timerfd) {
  uint64_t times;
  if (read(timer, &times, sizeof times) != sizeof times) abort();
}

static sem_t* named() {
  static sem_t* const one = [] {
    char name[64];
    snprintf(name, sizeof name, "/deadheat-unusual-%d", getpid());
    sem_t* const opened = sem_open(name, O_CREAT, 0600, 0);
    sem_unlink(name);
    return opened;
  }();
  return one;
}
SIGNAL(sem_open) { sem_post(named()); }
AWAIT(sem_open) { sem_wait(named()); }

static int set_of_semaphores = semget(IPC_PRIVATE, 1, 0600);
SIGNAL(semop) {
  sembuf up = {0, 1, 0};
  semop(set_of_semaphores, &up, 1);
}
AWAIT(semop) {
  sembuf down = {0, -1, 0};
  semop(set_of_semaphores, &down, 1);
}

static int messages = msgget(IPC_PRIVATE, 0600);
struct Message {
  long type;
  char text[8];
};
SIGNAL(msgsnd) {
  const Message message = {1, "x"};
  msgsnd(messages, &message, sizeof message.text, 0);
}
AWAIT(msgsnd) {
  Message message;
  msgrcv(messages, &message, sizeof message.text, 0, 0);
}

static mqd_t queue() {
  static const mqd_t one = [] {
    char name[64];
    snprintf(name, sizeof name, "/deadheat-unusual-%d", getpid());
    mq_attr how = {};
    how.mq_maxmsg = 1;
    how.mq_msgsize = 8;
    const mqd_t opened = mq_open(name, O_CREAT | O_RDWR, 0600, &how);
    mq_unlink(name);
    return opened;
  }();
  return one;
}
SIGNAL(mqueue) { mq_send(queue(), "x", 1, 0); }
AWAIT(mqueue) {
  char text[8];
  if (mq_receive(queue(), text, sizeof text, nullptr) != 1) abort();
}

static pid_t child;
// A child that ends because its parent tells it; another thread waits for it.
SIGNAL(waitpid) { kill(child, SIGTERM); }
AWAIT(waitpid) { waitpid(child, nullptr, 0); }

static int file_ready() {
  static const int fd = memfd_create("ready", 0);
  return fd;
}
SIGNAL(file) {
  if (pwrite(file_ready(), "x", 1, 0) != 1) abort();
}
AWAIT(file) {
  for (char byte = 0; pread(file_ready(), &byte, 1, 0) != 1;) nap();
}
static int flocked = memfd_create("locked", 0);
static std::atomic<int> flock_held;
SIGNAL(file_lock) {
  flock_held.store(1, std::memory_order_relaxed);
  struct flock lock = {};
  lock.l_type = F_UNLCK;
  fcntl(flocked, F_OFD_SETLK, &lock);
}
AWAIT(file_lock) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", flocked);
  const int other = open(path, O_RDWR);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  fcntl(other, F_OFD_SETLKW, &lock);
  close(other);
}

// A ring buffer's memory under two addresses: released through one, acquired through the other.
static std::atomic<int>* mapped(int which) {
  static const int fd = [] {
    const int made = memfd_create("twice", 0);
    if (ftruncate(made, 4096) != 0) abort();
    return made;
  }();
  static void* const at[2] = {mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                              mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
  return static_cast<std::atomic<int>*>(at[which]);
}
SIGNAL(two_mappings) { mapped(0)->store(1, std::memory_order_release); }
AWAIT(two_mappings) {
  while (mapped(1)->load(std::memory_order_acquire) == 0) nap();
}
static std::atomic<int>* attached(int which) {
  static const int id = shmget(IPC_PRIVATE, 4096, 0600);
  static void* const at[2] = {shmat(id, nullptr, 0), shmat(id, nullptr, 0)};
  static const int removed = shmctl(id, IPC_RMID, nullptr);
  return removed == 0 ? static_cast<std::atomic<int>*>(at[which]) : nullptr;
}
SIGNAL(two_attachments) { attached(0)->store(1, std::memory_order_release); }
AWAIT(two_attachments) {
  while (attached(1)->load(std::memory_order_acquire) == 0) nap();
}

static std::atomic<int> process_handled;
// Whichever thread the kernel chooses runs the handler.
SIGNAL(process_signal) { kill(getpid(), SIGCONT); }
AWAIT(process_signal) {
  while (process_handled.load(std::memory_order_acquire) == 0) nap();
}
SIGNAL(sigqueue) { sigqueue(getpid(), SIGRTMIN + 3, sigval{}); }
AWAIT(sigqueue) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  siginfo_t told;
  const timespec soon = {0, 1000000};
  while (sigtimedwait(&set, &told, &soon) < 0) nap();
}
static std::atomic<pthread_t> suspends{};
SIGNAL(sigsuspend) {
  while (suspends.load(std::memory_order_relaxed) == 0) nap();
  pthread_kill(suspends.load(std::memory_order_relaxed), SIGRTMIN + 4);
}
AWAIT(sigsuspend) {
  suspends.store(pthread_self(), std::memory_order_relaxed);
  sigset_t set;
  pthread_sigmask(SIG_SETMASK, nullptr, &set);
  sigdelset(&set, SIGRTMIN + 4);
  sigsuspend(&set);
}
SIGNAL(timer_signal) {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 5;
  const itimerspec soon = {{0, 0}, {0, 1}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &soon, nullptr);
}
AWAIT(timer_signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 5);
  siginfo_t told;
  sigwaitinfo(&set, &told);
}

static int spliced[4], spliced_made = pipe(spliced) + pipe(spliced + 2);
SIGNAL(splice) {
  if (write(spliced[1], "x", 1) != 1) abort();
}
AWAIT(splice) {
  char byte;
  if (splice(spliced[0], nullptr, spliced[3], nullptr, 1, 0) != 1 ||
      read(spliced[2], &byte, 1) != 1)
    abort();
}
static int many[2], many_made = socketpair(AF_UNIX, SOCK_DGRAM, 0, many);
SIGNAL(sendmmsg) {
  iovec part = {const_cast<char*>("x"), 1};
  mmsghdr message = {};
  message.msg_hdr.msg_iov = &part;
  message.msg_hdr.msg_iovlen = 1;
  sendmmsg(many[1], &message, 1, 0);
}
AWAIT(sendmmsg) {
  char byte;
  iovec part = {&byte, 1};
  mmsghdr message = {};
  message.msg_hdr.msg_iov = &part;
  message.msg_hdr.msg_iovlen = 1;
  while (recvmmsg(many[0], &message, 1, 0, nullptr) != 1) nap();
}
static int raw_event = eventfd(0, 0);
SIGNAL(raw_calls) {
  const uint64_t one = 1;
  syscall(SYS_write, raw_event, &one, sizeof one);
}
AWAIT(raw_calls) {
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  const int set = static_cast<int>(syscall(SYS_epoll_create1, 0));
  syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, raw_event, &wanted);
  while (syscall(SYS_epoll_pwait, set, &wanted, 1, -1, nullptr, 8) != 1) nap();
}
static const char* folder() {
  static const std::string made = [] {
    char name[] = "/tmp/deadheat-ways-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  return made.c_str();
}
static std::string in_folder(const char* name) { return std::string(folder()) + "/" + name; }
SIGNAL(new_name) { close(open(in_folder("new").c_str(), O_CREAT | O_WRONLY, 0600)); }
AWAIT(new_name) {
  while (access(in_folder("new").c_str(), F_OK) != 0) nap();
  unlink(in_folder("new").c_str());
}
SIGNAL(renamed) { rename(in_folder("before").c_str(), in_folder("after").c_str()); }
AWAIT(renamed) {
  for (struct stat told; stat(in_folder("after").c_str(), &told) != 0;) nap();
  unlink(in_folder("after").c_str());
}
static int inotify_descriptor() {
  static const int fd = [] {
    const int made = inotify_init1(0);
    mkdir(in_folder("watched").c_str(), 0700);
    inotify_add_watch(made, in_folder("watched").c_str(), IN_CREATE | IN_ONLYDIR);
    return made;
  }();
  return fd;
}
SIGNAL(inotify) { mkdir(in_folder("watched/seen").c_str(), 0700); }
AWAIT(inotify) {
  char told[512];
  if (read(inotify_descriptor(), told, sizeof told) <= 0) abort();
  rmdir(in_folder("watched/seen").c_str());
}

static void blocks(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int main(int argc, char** argv) {
  for (const int signal : {SIGUSR1, SIGWINCH, SIGRTMIN + 3, SIGRTMIN + 4, SIGRTMIN + 5})
    blocks(signal);
  signal(SIGCONT, [](int) { process_handled.store(1, std::memory_order_release); });
  signal(SIGRTMIN + 4, [](int) {});
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  fcntl(flocked, F_OFD_SETLK, &lock);
  named();
  queue();
  file_ready();
  attached(0);
  mapped(0);
  inotify_descriptor();
  close(open(in_folder("before").c_str(), O_CREAT | O_WRONLY, 0600));
  if ((child = fork()) == 0) {
    close(hang_up[1]);
    pause();
    _exit(0);
  }
  const int status = run_ways(argc, argv);
  kill(child, SIGKILL);
  semctl(set_of_semaphores, 0, IPC_RMID);
  msgctl(messages, IPC_RMID, nullptr);
  unlink(in_folder("before").c_str());
  rmdir(in_folder("watched").c_str());
  rmdir(folder());
  return status;
}
