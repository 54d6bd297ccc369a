// Bytes of one granule: the loop of one thread ends where the other's begins.
#include "program.h"

enum { kBytes = 45 };
char text[2 * kBytes + 1];
int order = kBytes;

static void* first(void* arg) {
  char* const at = text;
  const int size = order;
  for (int i = 0; i < size; ++i) at[i] = (char)(at[i] + i);  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  char* const at = text + kBytes - (SAFE ? 0 : 1);
  const int size = order;
  await(0);
  for (int i = 0; i < size; ++i) at[i] = (char)(at[i] ^ i);  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
