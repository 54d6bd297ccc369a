// What goblint's programs leave open (an input that may be anything) or to the analyser (an atomic
// section), as something that runs. Inputs are 0 or 1, drawn anew in every run but the same for
// each tool: SUITE_RUN is the seed.
#include <pthread.h>
#include <stdlib.h>

#define UNSEEN __attribute__((no_sanitize("thread")))

static unsigned long drawn;

UNSEEN static unsigned draw(void) {
  const char* const run = getenv("SUITE_RUN");
  const unsigned long seed = run == NULL ? 0 : strtoul(run, NULL, 10);
  unsigned long x = __atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15UL +
                    seed * 0xbf58476d1ce4e5b9UL;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebUL;
  return (unsigned)(x >> 60) & 1;
}

int __VERIFIER_nondet_int(void) { return (int)draw(); }
_Bool __VERIFIER_nondet_bool(void) { return draw() != 0; }
void* __VERIFIER_nondet_pointer(void) { return NULL; }

static pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;

void __VERIFIER_atomic_begin(void) { pthread_mutex_lock(&section); }
void __VERIFIER_atomic_end(void) { pthread_mutex_unlock(&section); }
