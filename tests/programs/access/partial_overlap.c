// A wide write and a narrow read in the middle of it.
#include <stdint.h>

#include "program.h"

union {
  uint64_t whole;
  uint32_t halves[2];
  uint8_t bytes[8];
} value;

static void* wide(void* arg) {
  if (SAFE) {
    value.halves[0] = 1;  // NORACE
  } else {
    value.whole = 1;  // RACE!
  }
  tell(0);
  return NULL;
}

static void* narrow(void* arg) {
  await(0);
  use((int)value.bytes[6]);  // RACE!
  return NULL;
}

int main(void) { run_two(wide, narrow); }
