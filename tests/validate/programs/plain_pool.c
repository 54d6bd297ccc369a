/* An uninstrumented library: its threads take work out of its queue, one at a time, and
 * order that by atomics that nobody sees. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static struct {
  void (*call)(void*);
  void* argument;
} queue[1024];
static int head, tail;
static atomic_int locked, done, started;

static void lock(void) {
  while (atomic_exchange_explicit(&locked, 1, memory_order_acquire)) sched_yield();
}
static void unlock(void) { atomic_store_explicit(&locked, 0, memory_order_release); }

static void* work(void* unused) {
  for (;;) {
    lock();
    if (head != tail) {
      queue[head].call(queue[head].argument);
      ++head;
      atomic_fetch_add(&done, 1);
    }
    unlock();
    usleep(50);
  }
  return unused;
}

void pool_submit(void (*call)(void*), void* argument) {
  for (int i = 0; atomic_load(&started) < 2 && i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_detach(thread);
    atomic_fetch_add(&started, 1);
  }
  lock();
  queue[tail].call = call;
  queue[tail].argument = argument;
  ++tail;
  unlock();
}

void pool_drain(void) {
  while (atomic_load(&done) != tail) usleep(50);
}
