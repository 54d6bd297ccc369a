// A runtime that only counts what it is asked for: the wrapper and the pass are tested against it
// without a detector. Serves both modes' library name; prints one line at exit when WITNESS is set,
// and with WITNESS=regions each region as it is entered and left.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/checks.h"
#include "abi/regions.h"

static unsigned long reads, writes, atomics, entries, exits, begins, ends, functions;

// No access is covered: inlined checks call the hooks each time.
static char no_cell[2 * DEADHEAT_CHECK_MOST_BYTES] __attribute__((aligned(16)));
static char* segments[1 << 15];
__attribute__((tls_model("initial-exec"),
               aligned(16))) __thread struct deadheat_check_words DEADHEAT_CHECK_WORDS = {
    {~0U, ~0U, ~0U, ~0U}, {~0U, ~0U, ~0U, ~0U}, segments, 0};
__attribute__((constructor)) static void start(void) {
  for (unsigned i = 0; i < sizeof segments / sizeof *segments; ++i) segments[i] = no_cell;
}

#define SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define ACCESS(n)                                                \
  void __tsan_read##n(void* p) { (void)p, ++reads; }             \
  void __tsan_write##n(void* p) { (void)p, ++writes; }           \
  void __tsan_unaligned_read##n(void* p) { (void)p, ++reads; }   \
  void __tsan_unaligned_write##n(void* p) { (void)p, ++writes; } \
  void __tsan_volatile_read##n(void* p) { (void)p, ++reads; }    \
  void __tsan_volatile_write##n(void* p) { (void)p, ++writes; }  \
  void __tsan_read_write##n(void* p) { (void)p, ++reads, ++writes; }
SIZES(ACCESS)

void __tsan_init(void) {}
void __tsan_func_entry(void* pc) { (void)pc, ++entries; }
void __tsan_func_exit(void) { ++exits; }
void __tsan_read_range(void* p, unsigned long n) { (void)p, (void)n, ++reads; }
void __tsan_write_range(void* p, unsigned long n) { (void)p, (void)n, ++writes; }
void __tsan_vptr_update(void** p, void* value) { (void)p, (void)value, ++writes; }
void __tsan_vptr_read(void** p) { (void)p, ++reads; }
void* __tsan_memcpy(void* to, const void* from, unsigned long n) { return memcpy(to, from, n); }
void* __tsan_memmove(void* to, const void* from, unsigned long n) { return memmove(to, from, n); }
void* __tsan_memset(void* to, int value, unsigned long n) { return memset(to, value, n); }
void __tsan_atomic_thread_fence(int order) { (void)order, ++atomics; }
void __tsan_atomic_signal_fence(int order) { (void)order; }

#define ATOMIC(bits, type)                                                                    \
  type __tsan_atomic##bits##_load(const volatile type* p, int o) {                            \
    (void)o, ++atomics;                                                                       \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  void __tsan_atomic##bits##_store(volatile type* p, type v, int o) {                         \
    (void)o, ++atomics;                                                                       \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                           \
  type __tsan_atomic##bits##_exchange(volatile type* p, type v, int o) {                      \
    (void)o, ++atomics;                                                                       \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                       \
  }                                                                                           \
  type __tsan_atomic##bits##_fetch_add(volatile type* p, type v, int o) {                     \
    (void)o, ++atomics;                                                                       \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                        \
  }                                                                                           \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* e, type v, int o, \
                                                    int f) {                                  \
    (void)o, (void)f, ++atomics;                                                              \
    return __atomic_compare_exchange_n(p, e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }
ATOMIC(8, unsigned char)
ATOMIC(32, unsigned)
ATOMIC(64, unsigned long)

static int telling(void) {
  const char* how = getenv("WITNESS");
  return how != NULL && strcmp(how, "regions") == 0;
}

static const char* name_of(const void* callee) {
  Dl_info info;
  return dladdr(callee, &info) != 0 && info.dli_sname != NULL ? info.dli_sname : "?";
}

enum { kMost = 4096 };
static const void* known[kMost];
static unsigned known_count;

void __deadheat_register_functions(const void* const* begin, const void* const* end) {
  for (; begin != end; ++begin) {
    if (*begin == NULL) continue;
    ++functions;
    if (known_count < kMost) known[known_count++] = *begin;
  }
}
void __deadheat_unregister_functions(const void* const* begin, const void* const* end) {
  (void)begin, (void)end;
}

static int is_known(const void* callee) {
  for (unsigned i = 0; i < known_count; ++i)
    if (known[i] == callee) return 1;
  return 0;
}

static int enter(const void* callee, const void* const* arguments, unsigned count) {
  ++begins;
  if (!telling()) return 1;
  fprintf(stderr, "begin %s", name_of(callee));
  const unsigned long address_bits = (1UL << DEADHEAT_SIZE_SHIFT) - 1;
  for (unsigned i = 0; i < count; ++i)
    fprintf(stderr, " %d", *(const int*)((unsigned long)arguments[i] & address_bits));
  fprintf(stderr, "\n");
  return 1;
}

int __deadheat_region_begin(const void* callee, unsigned char* state, const void* const* arguments,
                            unsigned count) {
  *state = is_known(callee) ? DEADHEAT_CALLEE_KNOWN : DEADHEAT_CALLEE_OUTSIDE;
  if (telling() && is_known(callee)) fprintf(stderr, "known %s\n", name_of(callee));
  return is_known(callee) ? 0 : enter(callee, arguments, count);
}
int __deadheat_region_begin_indirect(const void* callee, const void** cache,
                                     const void* const* arguments, unsigned count) {
  if (telling() && is_known(callee)) fprintf(stderr, "known %s\n", name_of(callee));
  if (is_known(callee)) *cache = callee;
  return is_known(callee) ? 0 : enter(callee, arguments, count);
}
void __deadheat_region_end(const void* result) {
  ++ends;
  if (telling() && result != NULL) fprintf(stderr, "end %d\n", *(const int*)result);
  if (telling() && result == NULL) fprintf(stderr, "end\n");
}

__attribute__((destructor)) static void say(void) {
  if (getenv("WITNESS") == NULL) return;
  fprintf(stderr,
          "witness: reads %lu writes %lu atomics %lu entries %lu exits %lu begins %lu ends %lu "
          "functions %lu\n",
          reads, writes, atomics, entries, exits, begins, ends, functions);
}
