// Bit-fields of one storage unit are one memory location; a zero-width field separates.
#include "program.h"

struct Together {
  unsigned first : 3;
  unsigned second : 5;
};
struct Apart {
  unsigned char first : 3;
  unsigned char : 0;
  unsigned char second : 5;
};

struct Together together;
struct Apart apart;

static void* left(void* arg) {
  apart.first = 1;                // NORACE
  if (!SAFE) together.first = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* right(void* arg) {
  await(0);
  apart.second = 1;                // NORACE
  if (!SAFE) together.second = 1;  // RACE!
  return NULL;
}

int main(void) { run_two(left, right); }
