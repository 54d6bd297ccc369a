// Two threads copy into, fill and copy out of one buffer, only by functions of the C library.
// -DRACE: nothing orders them; else a lock does. -DAPART: each has a half of its own, and no lock.
#include <string.h>

#include "pair.h"

enum { kHalf = 192 };

static char buffer[2 * kHalf];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t size = kHalf;  // or the compiler copies itself

// They use what the library returns, or a jump would take the place of the call and of their
// frames.
__attribute__((noipa)) static long copy_in(char* to, const char* from) {
  return (char*)memcpy(to, from, size) - buffer;
}

__attribute__((noipa)) static long fill(char* to, int byte) {
  return (char*)memset(to, byte, size) - buffer;
}

static void* work(void* second) {
  char mine[kHalf] = "mine";
  char* to = buffer;
#ifdef APART
  if (second) to += kHalf;
#endif
  for (int i = 0; !atomic_fetch_add(&stop, 0); ++i) {
#if !defined(RACE) && !defined(APART)
    pthread_mutex_lock(&lock);
#endif
    if (second)
      fill(to, i);
    else
      copy_in(to, mine);
#if !defined(RACE) && !defined(APART)
    pthread_mutex_unlock(&lock);
#endif
  }
  return 0;
}

int main(int argc, char** argv) {
  (void)lock;
  return run_pair(work, argc, argv);
}
