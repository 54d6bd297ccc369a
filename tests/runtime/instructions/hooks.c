// Operations whose instructions are counted (count.py): each case_NAME() does one of them
// kOperations times, called once from main. It is compiled without instrumentation and calls the
// hooks itself, as a compiler would have it do. With LOOKED it passes for a program whose checks
// are inlined, which calls a hook only where they miss: such a one gets other hooks (near_hooks.h).
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kOperations = 20000, kBatches = 200 };  // more ticks than a batch of epoch ids has (64)

#ifdef LOOKED
#include "abi/checks.h"
extern __thread struct deadheat_check_words DEADHEAT_CHECK_WORDS;
static struct deadheat_check_words* volatile words;
#endif

void __tsan_init(void);
void __tsan_func_entry(void* pc);
void __tsan_func_exit(void);
void __tsan_read1(void* address);
void __tsan_read4(void* address);
void __tsan_read8(void* address);
void __tsan_read16(void* address);
void __tsan_write4(void* address);
void __tsan_write8(void* address);
void __tsan_write16(void* address);
void __tsan_unaligned_read8(void* address);
void __tsan_read_range(void* address, unsigned long size);
uint64_t __tsan_atomic64_load(const volatile uint64_t* place, int order);
void __tsan_atomic64_store(volatile uint64_t* place, uint64_t value, int order);
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t* place, uint64_t value, int order);

// One area for each kind of first access, so that no case finds what another one left.
typedef struct {
  _Alignas(64) uint64_t words[2 * kOperations];
} Area;
static Area fresh_read, fresh_write, fresh_read16, fresh_write16, swept_read, swept_write,
    swept_read16, swept_write16, swept_read4, foreign_read, foreign_write;
static _Alignas(16) uint64_t place[4];
static volatile uint64_t counter;
static void* volatile block;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define CASE(name, operation)                                \
  __attribute__((noinline, noclone)) void case_##name(void); \
  void case_##name(void) {                                   \
    for (size_t i = 0; i < kOperations; ++i) {               \
      operation;                                             \
    }                                                        \
  }

CASE(alone_read8, __tsan_read8(place))
CASE(alone_write8, __tsan_write8(place))
CASE(alone_atomic_add, __tsan_atomic64_fetch_add(&counter, 1, memory_order_seq_cst))
CASE(alone_mutex, (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)))
CASE(repeated_read1, __tsan_read1(place))
CASE(repeated_read4, __tsan_read4(place))
CASE(repeated_read8, __tsan_read8(place))
CASE(repeated_read16, __tsan_read16(place))
CASE(repeated_write4, __tsan_write4(place))
CASE(repeated_write8, __tsan_write8(place))
CASE(repeated_write16, __tsan_write16(place))
CASE(repeated_unaligned_read8, __tsan_unaligned_read8((char*)place + 3))
CASE(first_read8, __tsan_read8(&fresh_read.words[i]))
CASE(first_write8, __tsan_write8(&fresh_write.words[i]))
CASE(first_read16, __tsan_read16(&fresh_read16.words[2 * i]))
CASE(first_write16, __tsan_write16(&fresh_write16.words[2 * i]))
// The thread's own accesses of ticks long past are there.
CASE(later_read4, __tsan_read4(&swept_read4.words[i]))
CASE(later_read8, __tsan_read8(&swept_read.words[i]))
CASE(later_write8, __tsan_write8(&swept_write.words[i]))
CASE(later_read16, __tsan_read16(&swept_read16.words[2 * i]))
CASE(later_write16, __tsan_write16(&swept_write16.words[2 * i]))
// The writes of a thread that was joined are there.
CASE(foreign_read8, __tsan_read8(&foreign_read.words[i]))
CASE(foreign_write8, __tsan_write8(&foreign_write.words[i]))
CASE(function, __tsan_func_entry((void*)&case_function); __tsan_func_exit())
CASE(mutex, pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex))
CASE(atomic_load, __tsan_atomic64_load(&counter, memory_order_acquire))
CASE(atomic_load_relaxed, __tsan_atomic64_load(&place[2], memory_order_relaxed))
CASE(atomic_store, __tsan_atomic64_store(&counter, i, memory_order_release))
CASE(atomic_add, __tsan_atomic64_fetch_add(&counter, 1, memory_order_acq_rel))
CASE(heap, block = malloc(64); free(block))
CASE(read_range_64, __tsan_read_range(fresh_read.words, 64))

static void sweep(void) {
  for (size_t i = 0; i < kOperations; ++i) {
    __tsan_read4(&swept_read4.words[i]);
    __tsan_read8(&swept_read.words[i]);
    __tsan_write8(&swept_write.words[i]);
    __tsan_read16(&swept_read16.words[2 * i]);
    __tsan_write16(&swept_write16.words[2 * i]);
  }
}

static void* other_thread(void* argument) {
  for (size_t i = 0; i < kOperations; ++i) {
    __tsan_write8(&foreign_read.words[i]);
    __tsan_write8(&foreign_write.words[i]);
  }
  return argument;
}

static void later_ticks(void) {
  for (int i = 0; i < kBatches; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}

static pthread_mutex_t until_end = PTHREAD_MUTEX_INITIALIZER;
static void* wait_for_end(void* unused) {
  pthread_mutex_lock(&until_end);
  pthread_mutex_unlock(&until_end);
  return unused;
}

int main(void) {
  __tsan_init();
  __tsan_func_entry(
      __builtin_return_address(0));  // as any main: the outermost call is a case apart
  case_alone_read8();
  case_alone_write8();
  case_alone_atomic_add();
  case_alone_mutex();
  // As long as it is there, this thread is not alone.
  pthread_t idle;
#ifdef LOOKED
  words = &DEADHEAT_CHECK_WORDS;
#endif
  if (pthread_mutex_lock(&until_end) != 0 || pthread_create(&idle, NULL, wait_for_end, NULL) != 0)
    abort();
  sweep();
  pthread_t thread;
  if (pthread_create(&thread, NULL, other_thread, NULL) != 0) abort();
  pthread_join(thread, NULL);
  later_ticks();
  case_repeated_read1();
  case_repeated_read4();
  case_repeated_read8();
  case_repeated_read16();
  case_repeated_write4();
  case_repeated_write8();
  case_repeated_write16();
  case_repeated_unaligned_read8();
  case_first_read8();
  case_first_write8();
  case_first_read16();
  case_first_write16();
  case_later_read4();
  case_later_read8();
  case_later_write8();
  case_later_read16();
  case_later_write16();
  case_foreign_read8();
  case_foreign_write8();
  case_function();
  case_atomic_load_relaxed();
  case_atomic_store();
  case_atomic_load();
  case_atomic_add();
  case_heap();
  case_read_range_64();
  case_mutex();
  pthread_mutex_unlock(&until_end);
  pthread_join(idle, NULL);
  __tsan_func_exit();
  printf("operations: %d\n", kOperations);
  return 0;
}
