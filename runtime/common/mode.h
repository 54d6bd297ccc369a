// What a mode is: one function per event kind of the trace (abi/trace_format.h). Hooks and
// interceptors call them; detect/, record/ and schedule/ each define all of them, and a program is
// bound to one of the libraries when it starts. What only schedule/ has is in blocking.h.
//
// Order is part of the contract. What acquires is called after the real operation succeeded, what
// releases before the real operation, so that the order of the calls on one object is an order that
// the real operations can have had. Nothing here blocks for long, allocates from the program's heap
// or sets errno.
//
// Objects are addresses. One address may serve as several kinds of object (a mutex inside a
// semaphore, say); a mode keeps the kinds apart as docs/design/trace-engines.md says.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace deadheat::runtime {

using Address = uintptr_t;

// The mode's state of one thread; thread.h has what all modes share.
struct Thread;

enum class MemoryOrder : uint8_t {  // numbers of the trace format (plain = 0)
  kPlain,
  kRelaxed,
  kConsume,
  kAcquire,
  kRelease,
  kAcqRel,
  kSeqCst,
  kRelaxed20  // of C++20: a store also ends the release sequences of its own thread
};

enum class AtomicKind : uint8_t { kLoad, kStore, kReadModifyWrite };

// --- Life of the process. Called by common/intercept/start.cc.
void mode_start();   // once; the calling thread is thread 0 and becomes so inside (tls_self).
                     // Options are parsed and modules known.
void mode_finish();  // the program ends normally: flush. May be called while threads run, with
                     // self() null, and again after a failed exec. Returns only if the exit code
                     // need not change.
int mode_exit_code(int status);  // what the process should exit with instead of `status`

// An instrumented object was loaded; its code has not run yet. Weak.
void mode_modules_changed();

// --- Production. Defined by a mode for programs in production: above 0 while the mode has anything
// to do. Such a mode wants no accesses of libc's functions and must delay nothing. While it is 0,
// synchronisation is the real operation plus this check. Weak; known to be there where it is
// compiled for such a mode alone (DEADHEAT_PRODUCTION).
#ifdef DEADHEAT_PRODUCTION
[[gnu::visibility("hidden")]] extern uint32_t production_work;
constexpr bool in_production() { return true; }
#else
[[gnu::weak]] extern uint32_t production_work;
inline bool in_production() { return &production_work != nullptr; }
#endif
// What acquires asks after the real operation, what releases before it: what was watched while a
// thread waited has been released to it by now, and counts.
inline bool nothing_to_do() {
  return in_production() && __atomic_load_n(&production_work, __ATOMIC_RELAXED) == 0;
}

// --- Fork of the process. The child continues alone with one thread.
void mode_before_fork(Thread* self);
void mode_after_fork_parent(Thread* self);
void mode_after_fork_child(Thread* self);

// --- Threads. `create` in the parent before the real creation (the fork event); `start` in the new
// thread before any of the program's code runs there; `finish` in it after the last TLS destructor;
// `join` in the joiner after the real join; `cancel_create` if creation failed.
Thread* on_thread_create(Thread* parent, Address pc);
void on_thread_start(Thread* self);
void on_thread_finish(Thread* self);
void on_thread_join(Thread* self, Thread* joined, Address pc);  // frees `joined`
void on_thread_detach(Thread* detached);  // no thread will join it: its end frees it
void on_thread_cancel_create(Thread* parent, Thread* never_started);
void on_thread_name(Thread* thread, const char* name);

// --- Plain accesses of any length (memory functions, system calls that fill buffers).
void on_range(Thread* self, Address pc, Address begin, size_t size, bool write);

// A loop of the calling thread will access `size` bytes at begin, begin + stride and so on, `count`
// times, without synchronisation in between. True: the mode checked them all, and the single
// accesses need not be reported. Weak: a mode without it receives each access.
bool mode_check_loop(Address begin, int64_t stride, uint64_t count, size_t size, bool write,
                     Address pc);

// --- Locks. `shared`: read side of a read-write lock. Recursive holds are reported each time.
void on_lock(Thread* self, Address pc, Address lock, bool shared);
void on_unlock(Thread* self, Address pc, Address lock, bool shared);
void on_lock_destroy(Thread* self, Address pc, Address lock);  // forget it

// --- Other synchronisation.
void on_notify(Thread* self, Address pc, Address condition);
void on_wait(Thread* self, Address pc, Address condition);
// The number of threads that a phase waits for, from the barrier's initialisation (0: forget it).
void on_barrier_init(Thread* self, Address pc, Address barrier, uint32_t count);
void on_barrier_enter(Thread* self, Address pc, Address barrier);
void on_barrier_leave(Thread* self, Address pc, Address barrier);
// Unknown tokens: other processes use it too. What was posted to it stays posted. Weak, like
// `seen`: the count was read.
inline constexpr uint32_t kUnknownTokens = ~0U;
void on_semaphore_init(Thread* self, Address pc, Address semaphore, uint32_t tokens);
void on_semaphore_seen(Thread* self, Address pc, Address semaphore);
void on_semaphore_post(Thread* self, Address pc, Address semaphore);
// A wait happened in a thread without state (a signal handler, the end of a thread). Weak.
void semaphore_wait_was_unseen();
void on_semaphore_wait(Thread* self, Address pc, Address semaphore);
void on_once_done(Thread* self, Address pc, Address once);
void on_once_seen(Thread* self, Address pc, Address once);
// All other ordering: annotations, pipes, sockets, signals, exit handlers.
void on_happens_before(Thread* self, Address pc, Address object);
void on_happens_after(Thread* self, Address pc, Address object);
// A call that passes memory to a receiver: `begin` is the release before the call; `read` after it
// reports what the call read, which is known only then. It counts as read before the release,
// because a receiver may write to the memory at once.
void on_send_begin(Thread* self, Address pc, Address object);
void on_send_read(Thread* self, Address pc, Address begin, size_t size);
void on_send_end(Thread* self, Address pc);
void on_fence(Thread* self, Address pc, MemoryOrder order);
// Forgets what was published to these numbers, which are not used again. Weak.
void mode_forget_objects(Thread* self, Address begin, size_t size);
// Whether nobody can race with a free() of this thread: its memory may be used again at once. Weak.
[[gnu::weak]] bool mode_frees_at_once(const Thread* self);

// --- Memory. The block's header is already in place (heap.h).
void on_alloc(Thread* self, Address pc, Address block, size_t size);
// The first bytes of newly obtained memory, as an atomic write of unknown order: an unordered use
// races with obtaining it, but the owner's own first write replaces it.
void on_fresh(Thread* self, Address pc, Address begin, size_t size);
void on_free(Thread* self, Address pc, Address block, size_t size);
// Mapped, unmapped, or a stack that is reused: the history of the bytes ends without an access.
void on_memory_reset(Thread* self, Address begin, size_t size);

// --- Call stack, also used by interceptors that call back into the program.
void on_function_entry(Thread* self, Address pc);
void on_function_exit(Thread* self);
// A longjmp leaves the frames whose return addresses are among these words of the stack, innermost
// first; calls on top of the mode's stack that are found there are finished. Weak: a mode without a
// call stack need not define it (intercept/jumps.cc).
void on_jump(Thread* self, const Address* begin, const Address* end);

// The number of calls on that stack (for tests) and the calls, innermost first. Weak; 0 in a mode
// without one.
size_t call_depth(const Thread* self);
size_t calls_of(const Thread* self, Address* calls, size_t room);
size_t locks_held(const Thread* self);  // also weak
void mode_flush_memory();               // frees what can be spared; weak

// --- Fibers: threads created by the program that share the calling one. `switch`: from now on the
// calling thread is the other fiber. `end`: it never runs again. Weak: a mode without them treats
// all fibers of a thread as one.
[[gnu::weak]] void mode_fiber_switch(Thread* from, Thread* to);
[[gnu::weak]] void mode_fiber_end(Thread* fiber);

// --- Tasks that a library assigns to its threads (OpenMP's): a task is not ordered with the other
// work of its thread, except as the program defines. All weak: without them, everything in a thread
// is ordered.
struct TaskHandle {
  uint32_t creator = 0;
  uint32_t creation = 0;   // the mode's id of a stack
  void* strand = nullptr;  // while it is suspended
};
// False: it will run in its thread's order.
bool mode_task_create(Thread* self, TaskHandle* task, Address pc);
// The calling thread becomes the task, ordered after what was published to the object `begun`;
// frames deeper on its stack than `base` are new. False: it runs in its thread's order.
bool mode_task_enter(Thread* self, TaskHandle* task, Address begun, Address base);
// The thread becomes what it was; an unfinished task is entered again, perhaps by another thread.
void mode_task_leave(Thread* self, TaskHandle* task, bool over);
// The program asks which thread runs it, or for something that belongs to that thread.
void mode_thread_identity(Thread* self);

// --- Signal handlers. Around the program's handler, in the interrupted thread. If that thread was
// inside the mode (ThreadCommon::critical), the handler runs untracked: self() is null until the
// end. Returns what on_signal_end needs.
Thread* on_signal_begin(Thread* self);
void on_signal_end(Thread* hidden);

// --- Uninstrumented code (RDIT). `arguments` are the pointer-sized arguments; at the end, the
// result if there is one.
void on_region_begin(Thread* self, Address pc, Address callee, const Address* arguments,
                     size_t count);
void on_region_end(Thread* self, Address pc, const Address* results, size_t count);

// --- Annotations that change what is observed.
void on_ignore_begin(Thread* self, bool reads, bool writes, bool sync);
void on_ignore_end(Thread* self, bool reads, bool writes, bool sync);
void on_benign_race(Thread* self, Address begin, size_t size, const char* why);

}  // namespace deadheat::runtime
