// strncpy writes all n bytes, strnlen and strncmp read at most n.
// build: flags=-fno-builtin
#include <string.h>

#include "program.h"

char padded[32], bounded[32] = "abcdefgh", compared[32] = "abcdefgh";

static void* first(void* arg) {
  strncpy(padded, "ab", 16);          // RACE! padded
  use(strnlen(bounded, 4));           // RACE! bounded
  use(strncmp(compared, "abcd", 4));  // RACE! compared
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  padded[16] = 1;   // NORACE behind n
  bounded[4] = 1;   // NORACE behind n
  compared[4] = 1;  // NORACE behind n
  if (SAFE) return NULL;
  padded[15] = 1;   // RACE! padded
  bounded[3] = 1;   // RACE! bounded
  compared[3] = 1;  // RACE! compared
  return NULL;
}

int main(void) { run_two(first, second); }
