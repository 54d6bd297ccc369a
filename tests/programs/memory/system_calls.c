// read() fills and write() reads the program's memory.
#include <unistd.h>

#include "program.h"

char in[16], out[16];
int ends[2];

static void* caller(void* arg) {
  if (write(ends[1], out, sizeof out) < 0) return NULL;  // RACE! out
  if (read(ends[0], in, sizeof in) < 0) return NULL;     // RACE! in
  tell(0);
  return NULL;
}

static void* user(void* arg) {
  await(0);
  if (SAFE) return NULL;
  out[3] = 'x';  // RACE! out
  use(in[3]);    // RACE! in
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) return 1;
  run_two(caller, user);
}
