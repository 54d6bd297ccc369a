// 10 bytes of long double and both halves of __int128.
#include "program.h"

long double real;
__int128 wide;

static void* writer(void* arg) {
  real = 1.5L;               // RACE! real
  wide = (__int128)7 << 70;  // RACE! wide
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  if (SAFE) return NULL;
  use((int)((char*)&real)[9]);  // RACE! real
  use(((long*)&wide)[1]);       // RACE! wide
  return NULL;
}

int main(void) { run_two(writer, reader); }
