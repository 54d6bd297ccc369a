// A mode for tests: each event is a line of text, "THREAD EVENT ARGUMENTS", written with one call
// to the descriptor in DEADHEAT_LOG_FD. It keeps no state of memory or clocks. Lines are written
// only between __deadheat_log_begin() and __deadheat_log_end(), which the program under test may
// also call, because libc and the linker cause events before main.
#include <stdlib.h>

#include "runtime/common/arena.h"
#include "runtime/common/modules.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"
#include "runtime/common/reach.h"
#include "runtime/common/thread.h"

namespace deadheat::runtime {

struct Thread {
  ThreadCommon common;
};

ThreadCommon& common(Thread* thread) { return thread->common; }

namespace {

int log_fd = -1;
bool logging;
uint32_t threads = 0;
int exit_code = -1;
char process = 'T';  // 'C' in a forked child: its lines and its parent's interleave arbitrarily

class Line {
 public:
  Line(const Thread* thread, const char* event) {
    text_ << process;
    text_.decimal(thread == nullptr ? 0 : thread->common.number) << ' ' << event;
  }
  ~Line() {
    text_ << '\n';
    if (logging && log_fd >= 0) write_all(log_fd, text_.data(), text_.size());
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line& hex(uint64_t value) {
    text_ << ' ';
    text_.hex(value);
    return *this;
  }
  Line& number(uint64_t value) {
    text_ << ' ';
    text_.decimal(value);
    return *this;
  }
  Line& word(const char* word) {
    text_ << ' ' << word;
    return *this;
  }

 private:
  TextBuffer<256> text_;
};

Thread* new_thread(uint32_t parent) {
  auto* const thread = arena_new<Thread>();
  if (thread == nullptr) return nullptr;
  thread->common.number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
  thread->common.parent = parent;
  return thread;
}

template <unsigned kSize, bool kWrite>
void hook_access(Address address, Address) {
  if (self() != nullptr) Line(self(), kWrite ? "write" : "read").hex(address).number(kSize);
}

template <unsigned kSize, bool kWrite>
void hook_unaligned(Address address, Address pc) {
  hook_access<kSize, kWrite>(address, pc);
}

void hook_range(Address address, size_t size, bool write, Address pc) {
  if (self() != nullptr) on_range(self(), pc, address, size, write);
}

void hook_entry(Address) {
  if (self() != nullptr) Line(self(), "entry");
}

void hook_exit() {
  if (self() != nullptr) Line(self(), "exit");
}

template <typename T, typename Op>
T hook_atomic(AtomicKind kind, volatile T* address, MemoryOrder, Address, Op op) {
  const T result = op();
  if (self() != nullptr)
    Line(self(), "atomic")
        .hex(reinterpret_cast<Address>(address))
        .number(static_cast<uint64_t>(kind));
  return result;
}

}  // namespace

template <typename T>
T real_load(const volatile T* address);
template <typename T>
bool real_compare_exchange(volatile T* address, T* expected, T desired);

namespace {

template <typename T>
bool hook_compare_exchange(volatile T* address, T* expected, T desired, MemoryOrder, MemoryOrder,
                           Address) {
  const bool done = real_compare_exchange<T>(address, expected, desired);
  if (self() != nullptr) Line(self(), "atomic").hex(reinterpret_cast<Address>(address));
  return done;
}

}  // namespace

Address thread_stack_end(Address) { return 0; }

void on_jump(Thread* thread, const Address* begin, const Address* end) {
  Line(thread, "jump").number(begin < end ? 1 : 0);
}

void mode_start() {
  const char* const fd = getenv("DEADHEAT_LOG_FD");
  const char* const code = getenv("DEADHEAT_LOG_EXIT");
  if (fd != nullptr) log_fd = atoi(fd);
  if (code != nullptr) exit_code = atoi(code);
  tls_self = new_thread(0);
}

void mode_finish() { Line(self(), "finish"); }
int mode_exit_code(int status) { return exit_code >= 0 ? exit_code : status; }

void mode_before_fork(Thread* thread) { Line(thread, "before_fork"); }
void mode_after_fork_parent(Thread* thread) { Line(thread, "after_fork_parent"); }
void mode_after_fork_child(Thread* thread) {
  process = 'C';
  Line(thread, "after_fork_child");
}

Thread* on_thread_create(Thread* parent, Address) {
  Thread* const thread = new_thread(parent->common.number);
  if (thread != nullptr) Line(parent, "create").number(thread->common.number);
  return thread;
}
void on_thread_start(Thread* thread) { Line(thread, "start"); }
void on_thread_finish(Thread* thread) { Line(thread, "thread_finish"); }
void on_thread_join(Thread* thread, Thread* joined, Address) {
  Line(thread, "join").number(joined->common.number);
}
void on_thread_detach(Thread* thread) { Line(self(), "detach").number(thread->common.number); }
void on_thread_cancel_create(Thread* parent, Thread* thread) {
  Line(parent, "cancel_create").number(thread->common.number);
}
void on_thread_name(Thread* thread, const char* name) { Line(thread, "name").word(name); }

void on_range(Thread* thread, Address, Address begin, size_t size, bool write) {
  Line(thread, write ? "range_write" : "range_read").hex(begin).number(size);
}

void on_lock(Thread* thread, Address, Address lock, bool shared) {
  Line(thread, shared ? "lock_shared" : "lock").hex(lock);
}
void on_unlock(Thread* thread, Address, Address lock, bool shared) {
  Line(thread, shared ? "unlock_shared" : "unlock").hex(lock);
}
void on_lock_destroy(Thread* thread, Address, Address lock) {
  Line(thread, "lock_destroy").hex(lock);
}

#define DEADHEAT_LOGGED(name) \
  void on_##name(Thread* thread, Address, Address object) { Line(thread, #name).hex(object); }
DEADHEAT_LOGGED(notify)
DEADHEAT_LOGGED(wait)
DEADHEAT_LOGGED(barrier_enter)
DEADHEAT_LOGGED(barrier_leave)
DEADHEAT_LOGGED(semaphore_post)
DEADHEAT_LOGGED(semaphore_wait)
DEADHEAT_LOGGED(once_done)
DEADHEAT_LOGGED(once_seen)
DEADHEAT_LOGGED(happens_before)
DEADHEAT_LOGGED(happens_after)
#undef DEADHEAT_LOGGED

void on_send_begin(Thread* thread, Address pc, Address object) {
  on_happens_before(thread, pc, object);
}
void on_send_read(Thread* thread, Address, Address begin, size_t size) {
  Line(thread, "send_read").hex(begin).number(size);
}
void on_send_end(Thread*, Address) {}

void on_fence(Thread* thread, Address, MemoryOrder order) {
  Line(thread, "fence").number(static_cast<uint64_t>(order));
}

void on_alloc(Thread* thread, Address, Address block, size_t size) {
  Line(thread, "alloc").hex(block).number(size);
}
void on_fresh(Thread* thread, Address, Address begin, size_t size) {
  Line(thread, "fresh").hex(begin).number(size);
}
void on_free(Thread* thread, Address, Address block, size_t size) {
  Line(thread, "free").hex(block).number(size);
}
void on_memory_reset(Thread* thread, Address begin, size_t size) {
  Line(thread, "reset").hex(begin).number(size);
}

void on_function_entry(Thread* thread, Address) { Line(thread, "entry"); }
void on_function_exit(Thread* thread) { Line(thread, "exit"); }
void on_region_begin(Thread* thread, Address, Address, const Address*, size_t count) {
  Line(thread, "region_begin").number(count);
}
void on_region_end(Thread* thread, Address, const Address*, size_t count) {
  Line(thread, "region_end").number(count);
}

void on_ignore_begin(Thread* thread, bool reads, bool writes, bool sync) {
  Line(thread, "ignore_begin").number(reads).number(writes).number(sync);
}
void on_ignore_end(Thread* thread, bool reads, bool writes, bool sync) {
  Line(thread, "ignore_end").number(reads).number(writes).number(sync);
}
Thread* on_signal_begin(Thread*) { return nullptr; }
void on_signal_end(Thread*) {}

void on_benign_race(Thread* thread, Address begin, size_t size, const char*) {
  Line(thread, "benign").hex(begin).number(size);
}

}  // namespace deadheat::runtime

#include "runtime/common/abi_accesses.inc"
#include "runtime/common/abi_atomics.inc"

extern "C" {
DEADHEAT_EXPORT void __deadheat_log_begin() { deadheat::runtime::logging = true; }
DEADHEAT_EXPORT void __deadheat_log_end() { deadheat::runtime::logging = false; }
// A line of the program's own, to separate the events of its steps.
DEADHEAT_EXPORT void __deadheat_log_mark(const char* text) {
  deadheat::runtime::Line(deadheat::runtime::self(), "mark").word(text);
}
DEADHEAT_EXPORT void __deadheat_log_object(const char* name, const void* address) {
  deadheat::runtime::Line(deadheat::runtime::self(), "object")
      .word(name)
      .hex(reinterpret_cast<uintptr_t>(address));
}
}
