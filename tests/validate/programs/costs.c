/* What validation costs while nobody validates, for callgrind: each case_ is called once and makes
 * kOperations operations. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kOperations = 20000 };

static volatile long promoted, alone, unnamed;
static atomic_long counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void touch_promoted(int count) {
  for (int i = 0; i < count; ++i) promoted = i;
}
static volatile long many[1024];
static __attribute__((noinline)) void touch_many(int count) {
  for (int i = 0; i < count; ++i) many[i & 1023] = i;
}
static __attribute__((noinline)) void touch_alone(int count) {
  for (int i = 0; i < count; ++i) alone = i;
}

__attribute__((noinline)) void case_without_site(void) {
  for (int i = 0; i < kOperations; ++i) unnamed = i;
}
__attribute__((noinline)) void case_site_off(void) { touch_promoted(kOperations); }
__attribute__((noinline)) void case_site_inferred(void) { touch_alone(kOperations); }
/* The first 4096 were enough: inference has left the site. */
__attribute__((noinline)) void case_site_at_rest(void) { touch_alone(kOperations); }
/* It has changed 4096 times: inference has left it, too. */
__attribute__((noinline)) void case_site_changing(void) { touch_many(kOperations); }
__attribute__((noinline)) void case_atomic_add(void) {
  for (int i = 0; i < kOperations; ++i) atomic_fetch_add(&counter, 1);
}
__attribute__((noinline)) void case_atomic_load(void) {
  for (int i = 0; i < kOperations; ++i) (void)atomic_load_explicit(&counter, memory_order_acquire);
}
__attribute__((noinline)) void case_lock_and_unlock(void) {
  for (int i = 0; i < kOperations; ++i) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
}

static void* other(void* unused) {
  touch_promoted(1);
  return unused;
}

int main(void) {
  /* Two threads at the same bytes: inference knows enough of that site and leaves it. */
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  pthread_join(thread, 0);
  touch_promoted(1);
  case_without_site();
  case_site_off();
  case_site_inferred();
  case_site_at_rest();
  touch_many(kOperations);
  case_site_changing();
  case_atomic_add();
  case_atomic_load();
  case_lock_and_unlock();
  printf("operations: %d\n", kOperations);
  return 0;
}
