// The kernel, without libc: what the program under test intercepts, wraps or breaks must not reach
// us, and errno stays the program's. Results are those of the system call: -errno on failure.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

namespace deadheat::runtime {

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// Null when the kernel refuses. Not reserved: pages use memory once they are touched.
void* map_memory(size_t size);
void unmap_memory(void* begin, size_t size);
// The pages read as zero again, and their memory returns to the system. Whole pages only.
void drop_pages(uintptr_t begin, size_t size);
size_t resident_bytes();  // of the process; 0 if unknown

uint32_t kernel_thread_id();
uint32_t process_id();
void yield_cpu();

long write_all(int fd, const void* data, size_t size);
int open_file(const char* path, int flags, int mode = 0);
long read_file(int fd, void* data, size_t size);
void close_file(int fd);

[[noreturn]] void exit_process(int status);

// A lock for short sections. A fork in another thread may leave it held in the child: its owner
// resets it there.
class Lock {
 public:
  void lock() {
    if (__builtin_expect(try_lock(), 1)) return;
    lock_slow();
  }
  bool try_lock() {
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&state_, &expected, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
  }
  void unlock() {
    if (__builtin_expect(__atomic_exchange_n(&state_, 0, __ATOMIC_RELEASE) == 2, 0)) wake();
  }
  void reset() { __atomic_store_n(&state_, 0, __ATOMIC_RELAXED); }

 private:
  void lock_slow();
  void wake();
  uint32_t state_ = 0;  // 0 free, 1 held, 2 held with waiters
};

class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace deadheat::runtime
