// Two threads write neighbouring bytes of one word: no race, until they write the same byte.
#include "program.h"

struct {
  _Alignas(8) char a;
  char b, c, d;
  _Alignas(8) short low;
  short high;
} packed;

static void* left(void* arg) {
  packed.a = 1;    // NORACE
  packed.c = 1;    // NORACE
  packed.low = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* right(void* arg) {
  await(0);
  packed.b = 1;                              // NORACE
  packed.d = 1;                              // NORACE
  packed.high = 1;                           // NORACE
  if (!SAFE) *((char*)&packed.low + 1) = 1;  // RACE!
  return NULL;
}

int main(void) { run_two(left, right); }
