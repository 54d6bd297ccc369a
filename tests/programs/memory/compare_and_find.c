// memcmp, memchr, memmem and strcmp read.
// build: flags=-fno-builtin
#define _GNU_SOURCE
#include <string.h>

#include "program.h"

char a[32] = "some text", b[32] = "some text", c[32] = "other text", d[32] = "and more";

static void* reader(void* arg) {
  use(memcmp(a, "some text", 10));  // RACE! a
  use(strcmp(b, "some text"));      // RACE! b
  use(memchr(c, 'x', 32));          // RACE! c
  use(strchr(d, 'm'));              // RACE! d
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  await(0);
  a[20] = b[20] = 'x';    // NORACE not looked at: both end before
  if (!SAFE) a[2] = 'x';  // RACE! a
  if (!SAFE) b[2] = 'x';  // RACE! b
  if (!SAFE) c[2] = 'x';  // RACE! c
  if (!SAFE) d[2] = 'x';  // RACE! d
  return NULL;
}

int main(void) { run_two(reader, writer); }
