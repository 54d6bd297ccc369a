// A wake-up that is lost: the waiter looks at `ready` without the lock (SAFE: with it) and may be
// overtaken before it waits. Somebody else goes on meanwhile, so that it is a hang and no deadlock.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static atomic_int over;

// Takes a while, between the look and the wait.
static void prepare(void) {
  for (int i = 0; i < 30; ++i) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
  }
}

static void* waits(void* unused) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
  prepare();
  while (!ready) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
#else
  if (!ready) {
    prepare();
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  }
#endif
  return unused;
}

static void* wakes(void* unused) {
#ifdef SAFE
  pthread_mutex_lock(&lock);
#endif
  ready = 1;
#ifndef SAFE
  pthread_mutex_lock(&lock);
#endif
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}

static void* beats(void* unused) {
  while (!atomic_load(&over)) usleep(10000);
  return unused;
}

int main(void) {
  pthread_t waiter, waker, heart;
  pthread_create(&heart, NULL, beats, NULL);
  pthread_create(&waiter, NULL, waits, NULL);
  pthread_create(&waker, NULL, wakes, NULL);
  pthread_join(waiter, NULL);
  pthread_join(waker, NULL);
  atomic_store(&over, 1);
  pthread_join(heart, NULL);
  puts("woken");
  return 0;
}
