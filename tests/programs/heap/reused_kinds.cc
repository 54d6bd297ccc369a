// The same for each way to give memory back: realloc that moves, aligned blocks, delete.
#include <cstdlib>
#include <new>

#include "program.h"

struct alignas(64) Wide {
  char bytes[192];
};

char* moved;
char* aligned;
Wide* wide;
long* numbers;

static void* releaser(void*) {
  await(1);
  if (!SAFE) {
    char* grown = static_cast<char*>(std::realloc(moved, 400));  // RACE! moved
    std::free(aligned);                                          // RACE! aligned
    delete wide;                                                 // RACE! wide
    delete[] numbers;                                            // RACE! numbers
    keep(grown);
    keep(std::malloc(100));
    keep(std::aligned_alloc(64, 128));
    keep(new Wide);
    keep(new long[20]);
  }
  tell(0);
  return nullptr;
}

static void* writer(void*) {
  tell(1);
  await(0);
  moved[40] = 1;        // RACE! moved
  aligned[40] = 1;      // RACE! aligned
  wide->bytes[40] = 1;  // RACE! wide
  numbers[5] = 1;       // RACE! numbers
  return nullptr;
}

int main() {
  moved = static_cast<char*>(std::malloc(100));
  aligned = static_cast<char*>(std::aligned_alloc(64, 128));
  wide = new Wide;
  numbers = new long[20];
  run_two(releaser, writer);
}
