// Descriptors as synchronisation, and futexes.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "runtime/testing/cases/case.h"

namespace {

void expect_bytes(ssize_t got, ssize_t wanted) { CHECK(got == wanted); }

}  // namespace

SEEN_CASE(buffers_of_reads_and_writes, R"(
T0 happens_before o1
T0 send_read out 3
T0 happens_after o1
T0 range_write in 3
T0 happens_before o2
T0 send_read out 2
T0 happens_after o2
T0 range_write in 2
T0 happens_before o1
T0 send_read out 4
T0 send_read more 1
T0 happens_after o1
T0 range_write in 1
T0 range_write more 3
T0 happens_before o2
T0 send_read out 5
T0 happens_after o2
T0 range_write in 5
)") {
  static char out[16] = "hello", in[16], more[16];
  NAME(out);
  NAME(in);
  NAME(more);
  int pipe_ends[2], sockets[2];
  CHECK(pipe(pipe_ends) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  expect_bytes(write(pipe_ends[1], out, 3), 3);
  expect_bytes(read(pipe_ends[0], in, sizeof in), 3);
  expect_bytes(send(sockets[0], out, 2, 0), 2);
  expect_bytes(recv(sockets[1], in, sizeof in, 0), 2);
  iovec parts[2] = {{out, 4}, {more, 1}};
  expect_bytes(writev(pipe_ends[1], parts, 2), 5);
  const iovec two[2] = {{in, 1}, {more, 3}};
  expect_bytes(readv(pipe_ends[0], two, 2), 4);
  errno = 0;
  CHECK(read(-1, in, 4) == -1 && errno == EBADF);
  msghdr message = {};
  parts[0].iov_len = 5;
  message.msg_iov = parts;
  message.msg_iovlen = 1;
  expect_bytes(sendmsg(sockets[0], &message, 0), 5);
  parts[0].iov_base = in;
  expect_bytes(recvmsg(sockets[1], &message, 0), 5);
}

// Of the offered bytes only those taken were read; a refused call has read nothing.
SEEN_CASE(short_writes, R"(
T0 happens_before o1
T0 send_read big 4096
T0 happens_before o1
T0 happens_before o2
T0 send_read big 10
T0 send_read small 3
T0 mark done
)") {
  static char big[1 << 16], small[16];
  NAME(big);
  NAME(small);
  int ends[2], sockets[2];
  CHECK(pipe2(ends, O_NONBLOCK) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  expect_bytes(write(ends[1], big, sizeof big), 4096);
  errno = 0;
  CHECK(write(ends[1], big, sizeof big) == -1 && errno == EAGAIN);
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
  iovec parts[2] = {{big, 10}, {small, 3}};
  mmsghdr messages[2] = {};
  messages[0].msg_hdr.msg_iov = parts;
  messages[0].msg_hdr.msg_iovlen = 2;
  messages[1].msg_hdr.msg_iov = nullptr;
  messages[1].msg_hdr.msg_iovlen = 1;  // faults: only the first one is sent
  CHECK(sendmmsg(sockets[0], messages, 2, 0) == 1);
  mark("done");
}

CASE(futex, R"(
T0 happens_before word
T0 happens_before word
T0 happens_before other
T0 create 1
T0 mark woken
T0 join 1
T1 start
T1 happens_before word
T1 thread_finish
)") {
  static uint32_t word, other;
  NAME(word);
  NAME(other);
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 1, nullptr, nullptr, 0) == -1 && errno == EAGAIN);
  QUIET(CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) == 0));
  CHECK(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 0) == 0);
  const timespec past = {0, 0};
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &past, nullptr, ~0U) == -1 &&
        errno == ETIMEDOUT);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        return nullptr;
      },
      nullptr);
  while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
  }
  mark("woken");
  pthread_join(thread, nullptr);
}

CASE(syscall_passes_six_arguments, R"(
T0 mark done
)") {
  CHECK(syscall(SYS_getpid) == getpid());
  auto* const page = reinterpret_cast<char*>(
      syscall(SYS_mmap, nullptr, 4096, 3, 0x22, -1, 0));  // the sixth one is looked at
  CHECK(page != reinterpret_cast<char*>(-1));
  page[0] = 1;
  errno = 0;
  CHECK(syscall(SYS_mmap, nullptr, 4096, 3, 0x22, -1, 1) == -1 && errno == EINVAL);
  mark("done");
}

CASE(copies_of_descriptors, R"(
T0 happens_before o1
T0 happens_after o1
T0 mark close
T0 happens_before o1
T0 happens_before o1
T0 mark done
)") {
  const int event = eventfd(0, 0);
  const int copy = dup(event), third = dup2(event, 200), fourth = fcntl(event, F_DUPFD, 300);
  CHECK(copy >= 0 && third == 200 && fourth >= 300);
  CHECK(eventfd_write(event, 3) == 0);
  eventfd_t value = 0;
  CHECK(eventfd_read(fourth, &value) == 0 && value == 3);
  QUIET(CHECK(dup2(event, 201) == 201));
  CHECK(dup3(event, event, 0) == -1 && errno == EINVAL);
  CHECK(fcntl(event, F_GETFD) == 0);
  mark("close");
  CHECK(close(copy) == 0 && close(third) == 0);
  CHECK(close(copy) == -1 && errno == EBADF);
  mark("done");
}

// Both ends are one object, two pipes are two; the end of a stream is an edge too.
CASE(pipes, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_before o2
T0 happens_after o2
T0 happens_before o1
T0 happens_after o1
)") {
  int first[2], second[2];
  CHECK(pipe(first) == 0 && pipe2(second, O_CLOEXEC) == 0);
  char c = 'x';
  expect_bytes(write(first[1], &c, 1), 1);
  expect_bytes(read(first[0], &c, 1), 1);
  expect_bytes(write(second[1], &c, 1), 1);
  expect_bytes(read(second[0], &c, 1), 1);
  CHECK(close(first[1]) == 0);
  expect_bytes(read(first[0], &c, 1), 0);
}

CASE(sockets, R"(
T0 happens_before o1
T0 happens_after o1
T0 mark listen
T0 happens_before o2
T0 happens_before o2
T0 happens_after o2
T0 happens_after o2
T0 mark stream
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
)") {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  char c = 'x';
  expect_bytes(send(pair[0], &c, 1, 0), 1);
  expect_bytes(recv(pair[1], &c, 1, 0), 1);
  mark("listen");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof(sa_family_t);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);  // any free name
  size = sizeof address;
  CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  CHECK(listen(listener, 1) == 0);
  CHECK(connect(client, reinterpret_cast<sockaddr*>(&address), size) == 0);
  const int server = accept(listener, nullptr, nullptr);
  CHECK(server >= 0);
  mark("stream");
  expect_bytes(write(client, &c, 1), 1);
  expect_bytes(read(server, &c, 1), 1);
  CHECK(shutdown(client, SHUT_RDWR) == 0);
}

// The second object is the event: that it is ready is news, though nobody reads it.
CASE(epoll, R"(
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 happens_after o2
)") {
  const int epoll = epoll_create1(0), event = eventfd(0, 0);
  epoll_event interest = {};
  interest.events = EPOLLIN;
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &interest) == 0);
  epoll_event got[2];
  CHECK(epoll_wait(epoll, got, 2, 0) == 0);
  CHECK(eventfd_write(event, 1) == 0);
  CHECK(epoll_wait(epoll, got, 2, 0) == 1);
}

CASE(ready_descriptors, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_after o1
T0 happens_after o1
T0 happens_after o1
T0 mark done
)") {
  const int event = eventfd(0, 0);
  pollfd polled = {event, POLLIN | POLLOUT, 0};
  CHECK(poll(&polled, 1, 0) == 1);  // room to write: no news
  CHECK(eventfd_write(event, 1) == 0);
  CHECK(poll(&polled, 1, 0) == 1);
  timespec now = {};
  CHECK(ppoll(&polled, 1, &now, nullptr) == 1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(event, &set);
  timeval no_time = {};
  CHECK(select(event + 1, &set, nullptr, nullptr, &no_time) == 1);
  CHECK(pselect(event + 1, &set, nullptr, nullptr, &now, nullptr) == 1);
  mark("done");
}

// Each file's locks are one object. o1 is the name that unlink removes.
CASE(file_locks, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
T0 happens_before o2
T0 mark done
)") {
  char path[] = "/tmp/deadheat_case_XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && unlink(path) == 0);
  CHECK(flock(file, LOCK_EX) == 0);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  CHECK(fcntl(file, F_OFD_SETLK, &lock) == 0);
  lock.l_type = F_UNLCK;
  CHECK(fcntl(file, F_OFD_SETLK, &lock) == 0);
  CHECK(lockf(file, F_LOCK, 0) == 0);
  lock.l_type = 77;
  CHECK(fcntl(file, F_SETLK, &lock) == -1);
  CHECK(close(file) == 0);
  mark("done");
}

CASE(queues_and_semaphores, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_before o1
T0 happens_after o1
T0 happens_before o2
T0 happens_after o2
T0 happens_before o2
T0 happens_after o2
T0 happens_before o3
T0 happens_after o3
T0 mark done
)") {
  const int semaphore = semget(IPC_PRIVATE, 1, 0600);
  sembuf up = {0, 1, 0}, down = {0, -1, 0};
  CHECK(semop(semaphore, &up, 1) == 0);
  CHECK(semop(semaphore, &down, 1) == 0);
  down.sem_flg = IPC_NOWAIT;
  CHECK(semop(semaphore, &down, 1) == -1);  // not had: no news
  CHECK(semctl(semaphore, 0, IPC_RMID) == 0);
  const int queue = msgget(IPC_PRIVATE, 0600);
  struct {
    long type;
    char text;
  } message = {1, 'x'};
  for (int i = 0; i < 2; ++i) {
    CHECK(msgsnd(queue, &message, 1, 0) == 0);
    CHECK(msgrcv(queue, &message, 1, 0, 0) == 1);
  }
  CHECK(msgctl(queue, IPC_RMID, nullptr) == 0);
  mq_attr attributes = {};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const std::string name = "/deadheat_case_" + std::to_string(getpid());
  const mqd_t posix = mq_open(name.c_str(), O_CREAT | O_RDWR, 0600, &attributes);
  CHECK(posix >= 0 && mq_unlink(name.c_str()) == 0);
  char text[8] = "";
  CHECK(mq_send(posix, text, 1, 0) == 0);
  CHECK(mq_receive(posix, text, sizeof text, nullptr) == 1);
  mark("done");
}

// o2 is what inotify descriptors tell; the others are the name of the file and the file.
CASE(watched_folder, R"(
T0 mark ready
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 happens_before o2
T0 happens_before o3
T0 happens_before o2
T0 happens_before o1
T0 happens_before o2
T0 happens_after o1
T0 happens_after o2
)") {
  const int watch = inotify_init1(IN_NONBLOCK);
  CHECK(inotify_add_watch(watch, "/tmp", IN_CREATE) >= 0);
  mark("ready");
  const std::string path = "/tmp/deadheat_case_" + std::to_string(getpid());
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  char c = 'x';
  expect_bytes(write(file, &c, 1), 1);
  CHECK(close(file) == 0 && unlink(path.c_str()) == 0);
  char told[4096];
  CHECK(read(watch, told, sizeof told) > 0);
}

CASE(signal_descriptors_and_timers, R"(
T0 happens_before o1
T0 happens_before o2
T0 happens_after o2
T0 happens_before o3
T0 happens_before o2
T0 happens_before o4
T0 happens_after o4
T0 mark done
)") {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int signals = signalfd(-1, &set, 0);
  CHECK(raise(SIGUSR1) == 0);
  signalfd_siginfo got;
  expect_bytes(read(signals, &got, sizeof got), sizeof got);
  const itimerval never = {};
  CHECK(setitimer(ITIMER_REAL, &never, nullptr) == 0);
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec soon = {{0, 0}, {0, 1}};
  CHECK(timerfd_settime(timer, 0, &soon, nullptr) == 0);
  uint64_t ticks;
  expect_bytes(read(timer, &ticks, sizeof ticks), sizeof ticks);
  mark("done");
}

CASE(files_order_by_name_and_inode, R"(
T0 happens_before o1
T0 happens_after o1
T0 happens_before o2
T0 happens_after o2
T0 mark done
)") {
  char path[] = "/tmp/deadheat_case_XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && unlink(path) == 0);
  char c = 'x';
  expect_bytes(write(file, &c, 1), 1);
  expect_bytes(pread(file, &c, 1, 0), 1);
  CHECK(close(file) == 0);
  mark("done");
}
