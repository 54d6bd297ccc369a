// What was published to a variable ends with its memory: what the runtime keeps for the next
// variable must not carry it there.
#include "program.h"

void AnnotateNewMemory(const char* file, int line, const volatile void* begin, long size);

_Alignas(64) int first;
_Alignas(64) int second;
int data;

static void* publisher(void* arg) {
  data = 1;  // RACE!
  __atomic_fetch_add(&first, 1, __ATOMIC_RELEASE);
  tell(0);
  return NULL;
}

static void* user(void* arg) {
  await(0);
  if (SAFE) __atomic_load_n(&first, __ATOMIC_ACQUIRE);
  AnnotateNewMemory(__FILE__, __LINE__, &first, sizeof first);
  __atomic_fetch_add(&second, 1, __ATOMIC_ACQ_REL);
  data = 2;  // RACE!
  return NULL;
}

int main(void) { run_two(publisher, user); }
