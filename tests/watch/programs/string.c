// One thread asks for the length of a string, another one writes the number behind it: no race, but
// vector instructions read both. With -DRACE it writes the string itself.
#include <string.h>

#include "pair.h"

static struct {
  char name[8];
  long number;
  char rest[48];
} both __attribute__((aligned(64))) = {"name", 0, ""};

static size_t (*volatile length)(const char*) = strlen;  // not the compiler's own

__attribute__((noinline)) static void write_once(int i) {
#ifdef RACE
  both.name[1] = (char)('a' + i % 26);
#else
  both.number += i;
#endif
}

static void* work(void* second) {
  size_t sum = 0;
  for (int i = 0; !atomic_fetch_add(&stop, 0); ++i)
    if (second)
      write_once(i);
    else
      sum += length(both.name);
  return sum == 1 ? second : 0;
}

int main(int argc, char** argv) { return run_pair(work, argc, argv); }
