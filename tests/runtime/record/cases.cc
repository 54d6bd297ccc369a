// Programs that are recorded, by name: how a process can end, multiply and be disturbed while it
// writes its trace. Each says first where its array lies; record_test.cc counts the accesses to it.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr long kWords = 4096;
uint64_t array[kWords];

// `count` writes, and nothing else, to the array.
[[gnu::noinline]] void write_array(long count) {
  for (long i = 0; i < count; ++i) *(array + i % kWords) = static_cast<uint64_t>(i);
}

void say_place() {
  char line[64];
  const int size = snprintf(line, sizeof line, "%lx %zx\n", reinterpret_cast<unsigned long>(array),
                            sizeof array);
  if (write(1, line, static_cast<size_t>(size)) != size) abort();
}

void* write_own(void* argument) {
  const auto number = reinterpret_cast<uintptr_t>(argument);
  volatile uint64_t* const word = array + number;  // 1000 writes, not only the last
  for (int i = 0; i < 1000; ++i) *word = static_cast<uint64_t>(i);
  return nullptr;
}

int with_threads(size_t count) {
  std::vector<pthread_t> threads(count);
  for (size_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], nullptr, write_own, reinterpret_cast<void*>(i)) != 0) abort();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}

std::atomic<bool> stop;
std::atomic<long> turns;
void* spin(void*) {
  while (!stop.load(std::memory_order_relaxed)) turns.fetch_add(1);
  return nullptr;
}

// A process forks while others of its threads write their chunks.
int forks(long children, long count) {
  pthread_t spinners[3];
  for (pthread_t& spinner : spinners)
    if (pthread_create(&spinner, nullptr, spin, nullptr) != 0) abort();
  while (turns.load() < 100) {
  }
  int failed = 0;
  for (long i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      write_array(count);
      exit(with_threads(2));
    }
    write_array(count);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) ++failed;
  }
  stop = true;
  for (const pthread_t spinner : spinners) pthread_join(spinner, nullptr);
  return failed == 0 ? 0 : 1;
}

volatile sig_atomic_t handled;
uint64_t handler_word;
void handler(int) {
  handler_word = handler_word + 1;
  handled = handled + 1;
}

int with_signals(long count) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every{{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &every, nullptr);
  while (handled < 200) write_array(count / 100);
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

// Closes what it did not open, as daemons do, and uses those numbers itself.
int with_closed_descriptors(long count) {
  char name[] = "record_cases_XXXXXX";
  const int own = mkstemp(name);
  unlink(name);
  for (int fd = 3; fd < 1024; ++fd)
    if (fd != own) close(fd);
  for (int i = 0; i < 1000; ++i) dup(own);
  write_array(count);
  return lseek(own, 0, SEEK_END) == 0 ? 0 : 1;  // our file was not written to
}

int with_file_limit(long count) {
  const rlimit limit{1 << 20, 1 << 20};
  setrlimit(RLIMIT_FSIZE, &limit);
  write_array(count);
  return 0;
}

[[gnu::noinline]] void crash() { *reinterpret_cast<volatile int*>(8) = 1; }

}  // namespace

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "";
  const long count = argc > 2 ? atol(argv[2]) : 1000;
  const auto is = [name](const char* other) { return strcmp(name, other) == 0; };
  if (!is("after_exec")) say_place();
  if (is("loop") || is("after_exec")) {
    write_array(count);
  } else if (is("sigkill")) {
    write_array(count);
    kill(getpid(), SIGKILL);
  } else if (is("sigsegv")) {
    write_array(count);
    crash();
  } else if (is("_exit")) {
    write_array(count);
    _exit(7);
  } else if (is("raw_exit")) {
    write_array(count);
    syscall(SYS_exit_group, 7);
  } else if (is("abort")) {
    write_array(count);
    abort();
  } else if (is("exec")) {
    write_array(count);
    execl("/proc/self/exe", argv[0], "after_exec", argv[2], nullptr);
  } else if (is("failed_exec")) {
    write_array(count);
    execl("/nonexistent/program", "program", nullptr);
    write_array(count);
  } else if (is("threads")) {
    return with_threads(static_cast<size_t>(count));
  } else if (is("fork")) {
    return forks(1, count);
  } else if (is("forks")) {
    return forks(20, count);
  } else if (is("signals")) {
    return with_signals(count);
  } else if (is("closed")) {
    return with_closed_descriptors(count);
  } else if (is("file_limit")) {
    return with_file_limit(count);
  } else {
    return 2;
  }
  return 0;
}
