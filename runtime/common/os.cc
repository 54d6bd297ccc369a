#include "runtime/common/os.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>

namespace deadheat::runtime {

namespace {

constexpr int kSpins = 64;  // about a microsecond: longer than our sections, shorter than a sleep

bool failed(long result) { return result < 0 && result > -4096; }

}  // namespace

void* map_memory(size_t size) {
  const long result = system_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return failed(result) ? nullptr : reinterpret_cast<void*>(result);
}

void unmap_memory(void* begin, size_t size) {
  system_call(SYS_munmap, reinterpret_cast<long>(begin), static_cast<long>(size));
}

void drop_pages(uintptr_t begin, size_t size) {
  system_call(SYS_madvise, static_cast<long>(begin), static_cast<long>(size), MADV_DONTNEED);
}

size_t resident_bytes() {
  const int fd = open_file("/proc/self/statm", O_RDONLY);
  if (fd < 0) return 0;
  char text[128];
  const long got = read_file(fd, text, sizeof text - 1);
  close_file(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* at = text;
  while (*at != '\0' && *at != ' ') ++at;
  size_t pages = 0;
  for (++at; *at >= '0' && *at <= '9'; ++at) pages = pages * 10 + static_cast<size_t>(*at - '0');
  return pages * 4096;
}

uint32_t kernel_thread_id() { return static_cast<uint32_t>(system_call(SYS_gettid)); }
uint32_t process_id() { return static_cast<uint32_t>(system_call(SYS_getpid)); }
void yield_cpu() { system_call(SYS_sched_yield); }

long write_all(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  size_t left = size;
  while (left > 0) {
    const long wrote =
        system_call(SYS_write, fd, reinterpret_cast<long>(at), static_cast<long>(left));
    if (wrote == -4) continue;  // EINTR
    if (wrote <= 0) return wrote;
    at += wrote;
    left -= static_cast<size_t>(wrote);
  }
  return static_cast<long>(size);
}

int open_file(const char* path, int flags, int mode) {
  return static_cast<int>(
      system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags | O_CLOEXEC, mode));
}

long read_file(int fd, void* data, size_t size) {
  return system_call(SYS_read, fd, reinterpret_cast<long>(data), static_cast<long>(size));
}

void close_file(int fd) { system_call(SYS_close, fd); }

void exit_process(int status) {
  for (;;) system_call(SYS_exit_group, status);
}

void Lock::lock_slow() {
  for (int i = 0; i < kSpins; ++i) {
    if (__atomic_load_n(&state_, __ATOMIC_RELAXED) == 0 && try_lock()) return;
    __builtin_ia32_pause();
  }
  while (__atomic_exchange_n(&state_, 2, __ATOMIC_ACQUIRE) != 0)
    system_call(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, 2, 0);
}

void Lock::wake() {
  system_call(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace deadheat::runtime
