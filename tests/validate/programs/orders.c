/* Ways of order beyond those of ways.c, each around put() and take(); the argument chooses. All are
 * safe. With a second argument put() comes after what should publish it, or take() without the
 * lock: the racy twin of the same way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef void (*step)(void);
static int data;
volatile int taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t mutex11;
static cnd_t condition11;
static int ends[2], ready, late;
static atomic_int flag, forwarded, turn, want[2];
static volatile int word;
static _Thread_local int me;

static __attribute__((noinline)) void put(int* at, int value) { *at = value; }
static __attribute__((noinline)) void take(int* at) { taken = *at; }
static void nap(void) { usleep(20); }
static int get(memory_order order) { return atomic_load_explicit(&flag, order); }
static void set(memory_order order) { atomic_store_explicit(&flag, 1, order); }

/* --- One way: signal() after the put, await() before the take. */
static void cond_signal(void) {
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_mutex_unlock(&mutex);
  pthread_cond_broadcast(&condition);
}
static void cond_await(void) {
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}
static void c11_signal(void) {
  mtx_lock(&mutex11);
  ready = 1;
  cnd_signal(&condition11);
  mtx_unlock(&mutex11);
}
static void c11_await(void) {
  mtx_lock(&mutex11);
  while (!ready) cnd_wait(&condition11, &mutex11);
  mtx_unlock(&mutex11);
}
static void reader_signal(void) {
  pthread_rwlock_rdlock(&rwlock);
  set(memory_order_relaxed);
  pthread_rwlock_unlock(&rwlock);
}
static void writer_await(void) {
  for (int seen = 0; !seen; nap()) {
    pthread_rwlock_wrlock(&rwlock);
    seen = get(memory_order_relaxed);
    pthread_rwlock_unlock(&rwlock);
  }
}
static void release_signal(void) { set(memory_order_release); }
static void acquire_await(void) {
  while (!get(memory_order_acquire)) nap();
}
static void consume_await(void) {
  while (!get(memory_order_consume)) nap();
}
static void failing_await(void) { /* an acquire only where the exchange fails */
  for (int zero = 0; atomic_compare_exchange_strong_explicit(&flag, &zero, 0, memory_order_relaxed,
                                                             memory_order_acquire);
       zero = 0)
    nap();
}
static void fence_signal(void) {
  atomic_thread_fence(memory_order_release);
  atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
}
static void fence_await(void) {
  while (!get(memory_order_relaxed)) nap();
  atomic_thread_fence(memory_order_seq_cst);
}
/* A third thread: it only adds (the release sequence goes on), or passes on what it saw. */
static void* add_one(void* unused) {
  while (!get(memory_order_relaxed)) nap();
  atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  return unused;
}
static void* pass_on(void* unused) {
  while (!get(memory_order_acquire)) nap();
  atomic_store_explicit(&forwarded, 1, memory_order_release);
  return unused;
}
static void with_third(void* (*body)(void*), atomic_int* at, int until) {
  pthread_t third;
  pthread_create(&third, 0, body, 0);
  while (atomic_load_explicit(at, memory_order_acquire) < until) nap();
  pthread_join(third, 0);
}
static void sequence_await(void) { with_third(add_one, &flag, 2); }
static void chain_await(void) { with_third(pass_on, &forwarded, 1); }
static void goto_signal(void) {
  __asm__ goto("lock; addl $1, %0; jz %l[out]" : : "m"(word) : "memory", "cc" : out);
out:;
}
static void goto_await(void) {
again:
  nap();
  __asm__ goto("lock; orl $0, %0; jz %l[again]" : : "m"(word) : "memory", "cc" : again);
}
static void system_signal(void) {
  if (syscall(SYS_write, ends[1], "x", 1) != 1) abort();
}
static void system_await(void) {
  char byte;
  if (syscall(SYS_read, ends[0], &byte, 1) != 1) abort();
}
/* libc's own thread for timers stands between the two. */
static void on_timer(union sigval unused) {
  (void)unused;
  cond_signal();
}
static void timer_signal(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
  struct itimerspec soon = {{0, 0}, {0, 100000}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
  timer_settime(timer, 0, &soon, 0);
}

static const struct {
  const char* name;
  step signal, await;
} one_way[] = {
    {"condition", cond_signal, cond_await},         {"c11", c11_signal, c11_await},
    {"reader", reader_signal, writer_await},        {"consume", release_signal, consume_await},
    {"release", release_signal, acquire_await},     {"failing", release_signal, failing_await},
    {"fence", fence_signal, fence_await},           {"fence_acquire", fence_signal, acquire_await},
    {"release_fence", release_signal, fence_await}, {"sequence", release_signal, sequence_await},
    {"chain", release_signal, chain_await},         {"asm_goto", goto_signal, goto_await},
    {"system_calls", system_signal, system_await},  {"timer", timer_signal, cond_await}};
static size_t way;

static void* do_first(void* unused) {
  if (!late) put(&data, 1);
  one_way[way].signal();
  if (late) put(&data, 1);
  return unused;
}
static void* do_second(void* unused) {
  one_way[way].await();
  take(&data);
  return unused;
}

/* --- Both ways: locks that the program builds itself. */
static void peterson_lock(void) {
  atomic_store(&want[me], 1);
  atomic_store(&turn, 1 - me);
  while (atomic_load(&want[1 - me]) && atomic_load(&turn) == 1 - me) sched_yield();
}
static void peterson_unlock(void) { atomic_store(&want[me], 0); }
static void exchange_lock(void) {
  while (atomic_exchange_explicit(&flag, 1, memory_order_acquire)) sched_yield();
}
static void exchange_unlock(void) { atomic_store_explicit(&flag, 0, memory_order_release); }
static step lock, unlock;

static void* lock_thread(void* number) {
  me = number != 0;
  for (int i = 0; i < 30; ++i) {
    if (!late || me == 0) lock();
    me == 0 ? put(&data, i) : take(&data);
    if (!late || me == 0) unlock();
    nap();
  }
  return 0;
}

/* --- Memory that each thread has for itself, one after the other. */
static void use(int* at) {
  put(at, 1);
  take(at);
}
static void* heap_thread(void* unused) {
  for (int i = 0; i < 100; ++i) {
    int* at = malloc(40000);
    use(at);
    at = realloc(at, 60000);
    use(at);
    free(at);
    sched_yield();
  }
  return unused;
}
static void* map_thread(void* unused) {
  for (int i = 0; i < 100; ++i) {
    int* at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    use(at);
    munmap(at, 4096);
    at = (int*)syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    use(at);
    syscall(SYS_munmap, at, 4096);
    sched_yield();
  }
  return unused;
}
static _Thread_local int own;
static void* stack_thread(void* unused) {
  int here;
  use(&here);
  use(&own);
  return unused;
}
static void one_after_the_other(void) { /* on the same stacks, and nobody joins */
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    pthread_create(&thread, &detached, stack_thread, 0);
    if (i % 4 == 3) nap();
  }
  usleep(50000);
}

/* --- A fiber that two threads run in turn. */
static ucontext_t fiber, back[2];
static char fiber_stack[1 << 16];
static sem_t hand[2];
static int runs_on;
static void fiber_body(void) {
  for (;;) {
    use(&data);
    swapcontext(&fiber, &back[runs_on]);
  }
}
static void* fiber_thread(void* number) {
  const int own_number = number != 0;
  for (int i = 0; i < 12; ++i) {
    sem_wait(&hand[own_number]);
    runs_on = own_number;
    swapcontext(&back[own_number], &fiber);
    sem_post(&hand[1 - own_number]);
  }
  return 0;
}

/* --- A library that is not instrumented and makes its own threads (plain_pool.c). */
static void call_put(void* at) { put(at, 5); }
static void call_take(void* at) { take(at); }
static void pool(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == 0) abort();
  void (*submit)(void (*)(void*), void*) = dlsym(library, "pool_submit");
  void (*drain)(void) = dlsym(library, "pool_drain");
  for (int i = 0; i < 40; ++i) submit(i % 2 ? call_take : call_put, &data);
  drain();
}

static void both(void* (*body)(void*)) {
  pthread_t a, b;
  pthread_create(&a, 0, body, 0);
  pthread_create(&b, 0, body, &data);
  pthread_join(a, 0);
  pthread_join(b, 0);
}

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "release";
  late = argc > 2;
  mtx_init(&mutex11, mtx_plain);
  cnd_init(&condition11);
  if (pipe(ends) != 0) return 2;
  if (strcmp(name, "heap") == 0) both(heap_thread);
  if (strcmp(name, "map") == 0) both(map_thread);
  if (strcmp(name, "stack") == 0) one_after_the_other();
  if (strcmp(name, "pool") == 0) pool(argv[2]);
  if (strcmp(name, "peterson") == 0) lock = peterson_lock, unlock = peterson_unlock;
  if (strcmp(name, "exchange") == 0) lock = exchange_lock, unlock = exchange_unlock;
  if (lock != 0) both(lock_thread);
  if (strcmp(name, "fiber") == 0) {
    sem_init(&hand[0], 0, 1);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = fiber_stack;
    fiber.uc_stack.ss_size = sizeof fiber_stack;
    makecontext(&fiber, fiber_body, 0);
    both(fiber_thread);
  }
  for (way = 0; way < sizeof one_way / sizeof *one_way; ++way)
    if (strcmp(name, one_way[way].name) == 0) {
      pthread_t a, b;
      pthread_create(&a, 0, do_first, 0);
      pthread_create(&b, 0, do_second, 0);
      pthread_join(a, 0);
      pthread_join(b, 0);
    }
  return 0;
}
