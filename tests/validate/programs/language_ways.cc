// Order by what C++ and POSIX threads offer beside mutexes, conditions and joins (ways.h).
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>

#include "ways.h"

// --- C++20
static std::barrier meeting(2);
SIGNAL(barrier) { meeting.arrive_and_wait(); }
AWAIT(barrier) { meeting.arrive_and_wait(); }
static std::barrier<void (*)() noexcept> completion(2, []() noexcept {});
SIGNAL(barrier_arrive) { (void)completion.arrive(); }
AWAIT(barrier_arrive) { completion.arrive_and_wait(); }
static std::latch down(1);
SIGNAL(latch) { down.count_down(); }
AWAIT(latch) { down.wait(); }
static std::latch tried(1);
SIGNAL(latch_try) { tried.count_down(); }
AWAIT(latch_try) {
  while (!tried.try_wait()) nap();
}
static std::counting_semaphore<8> tokens(0);
SIGNAL(counting_semaphore) { tokens.release(2); }
AWAIT(counting_semaphore) {
  tokens.acquire();
  tokens.acquire();
}
static std::binary_semaphore token(0);
SIGNAL(binary_semaphore) { token.release(); }
AWAIT(binary_semaphore) {
  while (!token.try_acquire_for(std::chrono::milliseconds(1))) {
  }
}
static std::atomic<int> notified;
SIGNAL(atomic_wait) {
  notified.store(1, std::memory_order_release);
  notified.notify_one();
}
AWAIT(atomic_wait) { notified.wait(0, std::memory_order_acquire); }
static int referred;
SIGNAL(atomic_ref) { std::atomic_ref(referred).store(1, std::memory_order_release); }
AWAIT(atomic_ref) {
  while (std::atomic_ref(referred).load(std::memory_order_acquire) == 0) nap();
}
static std::atomic<std::shared_ptr<int>> shared;
SIGNAL(atomic_shared_ptr) { shared.store(std::make_shared<int>(1)); }
AWAIT(atomic_shared_ptr) {
  while (shared.load() == nullptr) nap();
}
static std::stop_source stop;
SIGNAL(stop_token) { stop.request_stop(); }
AWAIT(stop_token) {
  while (!stop.get_token().stop_requested()) nap();
}
static std::atomic_flag lit;
SIGNAL(atomic_flag) { lit.test_and_set(std::memory_order_release); }
AWAIT(atomic_flag) {
  while (!lit.test(std::memory_order_acquire)) nap();
}
static std::atomic<std::coroutine_handle<>> suspended;
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { abort(); }
  };
};
struct HandOver {
  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) noexcept {
    suspended.store(self, std::memory_order_release);
  }
  void await_resume() noexcept {}
};
static Task hands_over() { co_await HandOver(); }
SIGNAL(coroutine) { hands_over(); }
AWAIT(coroutine) {
  while (suspended.load(std::memory_order_acquire) == nullptr) nap();
  suspended.load(std::memory_order_relaxed).resume();
}

// --- C++11 to 17
static std::mutex any_mutex;
static std::shared_mutex any_shared;
static std::condition_variable_any any_condition;
static bool any_ready;
SIGNAL(condition_variable_any) {
  {
    const std::unique_lock lock(any_shared);
    any_ready = true;
  }
  any_condition.notify_all();
}
AWAIT(condition_variable_any) {
  std::shared_lock lock(any_shared);
  any_condition.wait(lock, [] { return any_ready; });
}
static std::shared_timed_mutex timed;
static bool timed_ready;
SIGNAL(shared_timed_mutex) {
  const std::lock_guard lock(timed);
  timed_ready = true;
}
AWAIT(shared_timed_mutex) {
  for (bool seen = false; !seen; nap()) {
    std::shared_lock lock(timed, std::defer_lock);
    if (lock.try_lock_for(std::chrono::milliseconds(1))) seen = timed_ready;
  }
}
static std::recursive_timed_mutex recursive;
static bool recursive_ready;
SIGNAL(recursive_timed_mutex) {
  const std::scoped_lock both(recursive, any_mutex);
  const std::lock_guard again(recursive);
  recursive_ready = true;
}
AWAIT(recursive_timed_mutex) {
  for (bool seen = false; !seen; nap()) {
    if (!recursive.try_lock_for(std::chrono::milliseconds(1))) continue;
    seen = recursive_ready;
    recursive.unlock();
  }
}
static std::atomic<int> relaxed;
SIGNAL(fences) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  relaxed.store(1, std::memory_order_relaxed);
}
AWAIT(fences) {
  while (relaxed.load(std::memory_order_relaxed) == 0) nap();
  std::atomic_thread_fence(std::memory_order_acquire);
}
static std::promise<int> promise;
SIGNAL(promise) { promise.set_value(1); }
AWAIT(promise) { promise.get_future().wait(); }
static std::packaged_task<int()> packaged([] { return 1; });
SIGNAL(packaged_task) { packaged(); }
AWAIT(packaged_task) { packaged.get_future().get(); }
static std::shared_future<void> task_of_async;
static std::promise<void> async_may_end;
SIGNAL(async) { async_may_end.set_value(); }
AWAIT(async) {
  std::async(std::launch::async, [] { async_may_end.get_future().wait(); }).wait();
}
static std::once_flag once;
static std::atomic<int> once_begun;
SIGNAL(call_once) {
  std::call_once(once, [] { once_begun.store(1, std::memory_order_relaxed); });
}
AWAIT(call_once) {
  while (once_begun.load(std::memory_order_relaxed) == 0) nap();
  std::call_once(once, [] {});
}
static pthread_once_t once_c = PTHREAD_ONCE_INIT;
static std::atomic<int> once_c_begun;
SIGNAL(pthread_once) {
  pthread_once(&once_c, [] { once_c_begun.store(1, std::memory_order_relaxed); });
}
AWAIT(pthread_once) {
  while (once_c_begun.load(std::memory_order_relaxed) == 0) nap();
  pthread_once(&once_c, [] {});
}
static std::atomic<int> static_begun;
static int& made_once() {
  static int one = (static_begun.store(1, std::memory_order_relaxed), getpid());
  return one;
}
SIGNAL(static_local) { made_once(); }
AWAIT(static_local) {
  while (static_begun.load(std::memory_order_relaxed) == 0) nap();
  made_once();
}
struct Last {
  std::atomic<int>* gone;
  ~Last() { gone->store(1, std::memory_order_relaxed); }
};
static std::atomic<int> last_gone;
static std::shared_ptr<Last> owned = std::make_shared<Last>(&last_gone);
static std::shared_ptr<Last> also_owned = owned;
// The last owner comes after all the others.
SIGNAL(reference_count) { owned.reset(); }
AWAIT(reference_count) {
  while (also_owned.use_count() != 1) nap();
  also_owned.reset();
}
static std::deque<std::function<void()>> work;
static std::mutex work_mutex;
static std::condition_variable work_there;
static std::atomic<int> work_done;
SIGNAL(thread_pool) {
  {
    const std::lock_guard lock(work_mutex);
    work.emplace_back([] { work_done.fetch_add(1, std::memory_order_relaxed); });
  }
  work_there.notify_one();
}
AWAIT(thread_pool) {
  std::unique_lock lock(work_mutex);
  work_there.wait(lock, [] { return !work.empty(); });
  auto next = std::move(work.front());
  work.pop_front();
  lock.unlock();
  next();
}

// --- POSIX threads
static pthread_mutex_t robust = [] {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t one;
  pthread_mutex_init(&one, &how);
  return one;
}();
static std::atomic<int> robust_held;
// Its owner ends without letting go.
SIGNAL(robust_mutex) {
  pthread_mutex_lock(&robust);
  robust_held.store(1, std::memory_order_relaxed);
}
AWAIT(robust_mutex) {
  while (robust_held.load(std::memory_order_relaxed) == 0) nap();
  if (pthread_mutex_lock(&robust) == EOWNERDEAD) pthread_mutex_consistent(&robust);
  pthread_mutex_unlock(&robust);
}
static pthread_mutex_t inherits = [] {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
  pthread_mutex_t one;
  pthread_mutex_init(&one, &how);
  return one;
}();
static int inherits_ready;
SIGNAL(priority_mutex) {
  pthread_mutex_lock(&inherits);
  inherits_ready = 1;
  pthread_mutex_unlock(&inherits);
}
AWAIT(priority_mutex) {
  for (int seen = 0; !seen; nap()) {
    pthread_mutex_lock(&inherits);
    seen = inherits_ready;
    pthread_mutex_unlock(&inherits);
  }
}
static std::atomic<pthread_t> helper{};
static std::atomic<int> helper_may_end;
static void* helps(void* unused) {
  while (helper_may_end.load(std::memory_order_acquire) == 0) nap();
  return unused;
}
SIGNAL(tryjoin) { helper_may_end.store(1, std::memory_order_release); }
AWAIT(tryjoin) {
  pthread_t thread;
  pthread_create(&thread, nullptr, helps, nullptr);
  while (pthread_tryjoin_np(thread, nullptr) != 0) nap();
}
static std::atomic<int> sync_word;
static int plain_word;
SIGNAL(sync_builtins) { __sync_fetch_and_add(&plain_word, 1); }
AWAIT(sync_builtins) {
  while (__sync_val_compare_and_swap(&plain_word, 1, 1) != 1) nap();
}
static unsigned __int128 wide;
SIGNAL(atomic_128) { __atomic_store_n(&wide, 1, __ATOMIC_RELEASE); }
AWAIT(atomic_128) {
  while (__atomic_load_n(&wide, __ATOMIC_ACQUIRE) == 0) nap();
}
static thread_local struct Leaves {
  std::atomic<int>* gone = nullptr;
  ~Leaves() {
    if (gone != nullptr) gone->store(1, std::memory_order_release);
  }
} leaves;
static std::atomic<int> left;
SIGNAL(thread_local_destructor) { leaves.gone = &left; }
AWAIT(thread_local_destructor) {
  while (left.load(std::memory_order_acquire) == 0) nap();
}
static std::atomic<int> passed;
SIGNAL(inline_assembly) { __asm__ volatile("movl $1, %0" : "=m"(passed) : : "memory"); }
AWAIT(inline_assembly) {
  int seen = 0;
  while (seen == 0) __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(passed) : "memory");
}
// Memory that is given back when nobody announces that he looks at it.
static int* published = new int(7);
static std::atomic<int*> current{published}, hazard{nullptr};
static std::atomic<int> hazard_seen;
SIGNAL(hazard_pointer) {
  hazard.store(current.load());
  std::atomic_thread_fence(std::memory_order_seq_cst);
  hazard_seen.store(1, std::memory_order_relaxed);
  hazard.store(nullptr, std::memory_order_release);
}
AWAIT(hazard_pointer) {
  while (hazard_seen.load(std::memory_order_relaxed) == 0) nap();
  current.store(nullptr);
  while (hazard.load(std::memory_order_acquire) != nullptr) nap();
}
static std::atomic<int> owners{2};
// Boost's counted pointers.
SIGNAL(count_and_fence) { owners.fetch_sub(1, std::memory_order_release); }
AWAIT(count_and_fence) {
  while (owners.load(std::memory_order_relaxed) != 1) nap();
  if (owners.fetch_sub(1, std::memory_order_release) == 1)
    std::atomic_thread_fence(std::memory_order_acquire);
}
static std::mutex exit_mutex;
static std::condition_variable exit_condition;
static bool exit_ready;
SIGNAL(notify_at_thread_exit) {
  std::thread([] {
    std::unique_lock lock(exit_mutex);
    exit_ready = true;
    std::notify_all_at_thread_exit(exit_condition, std::move(lock));
  }).detach();
}
AWAIT(notify_at_thread_exit) {
  std::unique_lock lock(exit_mutex);
  exit_condition.wait(lock, [] { return exit_ready; });
}
static std::promise<void> at_exit;
SIGNAL(value_at_thread_exit) {
  std::thread([] { at_exit.set_value_at_thread_exit(); }).detach();
}
AWAIT(value_at_thread_exit) { at_exit.get_future().wait(); }
static std::atomic<int> jthread_told;
SIGNAL(jthread) { jthread_told.store(1, std::memory_order_release); }
AWAIT(jthread) {
  std::jthread waits([] {
    while (jthread_told.load(std::memory_order_acquire) == 0) nap();
  });
}
static FILE* locked_stream = tmpfile();
static int stream_ready;
SIGNAL(flockfile) {
  flockfile(locked_stream);
  stream_ready = 1;
  funlockfile(locked_stream);
}
AWAIT(flockfile) {
  for (int seen = 0; !seen; nap()) {
    flockfile(locked_stream);
    seen = stream_ready;
    funlockfile(locked_stream);
  }
}
static std::atomic<pthread_t> cancelled{};
static std::atomic<int> cleaned;
static void* is_cancelled(void* unused) {
  pthread_cleanup_push([](void*) { cleaned.store(1, std::memory_order_release); }, nullptr);
  for (;;) nap();
  pthread_cleanup_pop(0);
  return unused;
}
SIGNAL(cancel) {
  pthread_t thread;
  pthread_create(&thread, nullptr, is_cancelled, nullptr);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  cancelled.store(thread, std::memory_order_release);
}
AWAIT(cancel) {
  while (cancelled.load(std::memory_order_acquire) == 0) nap();
}

int main(int argc, char** argv) { return run_ways(argc, argv); }
