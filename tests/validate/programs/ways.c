/* Many ways of synchronisation around one plain variable; the argument chooses. All are safe but
 * `none` and `relaxed`. What is accessed is one pair of lines for all of them: put() and take(). */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int data;
static volatile int taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int ends[2];
static atomic_int flag;
static int ready;

static __attribute__((noinline)) void put(int value) { data = value; }
static __attribute__((noinline)) void take(void) { taken = data; }

char block[2][512]; /* for calls that compilers make of copies and fills */
static const char* way;
static int is(const char* name) { return strcmp(way, name) == 0; }

static void* producer(void* unused) {
  char byte = 1;
  if (is("mutex")) pthread_mutex_lock(&mutex);
  if (is("rwlock")) pthread_rwlock_wrlock(&rwlock);
  if (is("spin")) pthread_spin_lock(&spin);
  put(1);
  if (is("mutex")) pthread_mutex_unlock(&mutex);
  if (is("rwlock")) pthread_rwlock_unlock(&rwlock);
  if (is("spin")) pthread_spin_unlock(&spin);
  if (is("condition")) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  }
  if (is("semaphore")) sem_post(&semaphore);
  if (is("pipe") && write(ends[1], &byte, 1) != 1) abort();
  if (is("barrier")) pthread_barrier_wait(&barrier);
  if (is("release")) atomic_store_explicit(&flag, 1, memory_order_release);
  if (is("fence")) {
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
  }
  if (is("relaxed")) atomic_store_explicit(&flag, 1, memory_order_relaxed);
  if (is("exchange")) atomic_fetch_add(&flag, 1);
  return unused;
}

static void* consumer(void* unused) {
  char byte;
  if (is("condition")) {
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  if (is("semaphore")) sem_wait(&semaphore);
  if (is("pipe") && read(ends[0], &byte, 1) != 1) abort();
  if (is("barrier")) pthread_barrier_wait(&barrier);
  if (is("release"))
    while (atomic_load_explicit(&flag, memory_order_acquire) == 0) usleep(10);
  if (is("fence")) {
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) usleep(10);
    atomic_thread_fence(memory_order_acquire);
  }
  if (is("relaxed"))
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0) usleep(10);
  if (is("exchange"))
    while (atomic_fetch_add(&flag, 0) == 0) usleep(10);
  if (is("mutex")) pthread_mutex_lock(&mutex);
  if (is("rwlock")) pthread_rwlock_rdlock(&rwlock);
  if (is("spin")) pthread_spin_lock(&spin);
  take();
  if (is("mutex")) pthread_mutex_unlock(&mutex);
  if (is("rwlock")) pthread_rwlock_unlock(&rwlock);
  if (is("spin")) pthread_spin_unlock(&spin);
  return unused;
}

int main(int argc, char** argv) {
  memset(block[0], argc, sizeof block[0]);
  memcpy(block[1], block[0], sizeof block[0]);
  way = argc > 1 ? argv[1] : "none";
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, 0, 2);
  sem_init(&semaphore, 0, 0);
  if (pipe(ends) != 0) return 2;
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  if (is("join")) pthread_join(a, 0);
  pthread_create(&b, 0, consumer, 0);
  if (!is("join")) pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
