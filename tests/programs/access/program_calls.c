// Accesses that a program announces itself, through the sanitizers' interface.
// build: tools=deadheat,tsan
#include <stdint.h>

#include "program.h"

void __sanitizer_unaligned_store32(void* address, uint32_t value);
uint32_t __sanitizer_unaligned_load32(const void* address);

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char bytes[16];

static void* store(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  __sanitizer_unaligned_store32(bytes + 3, 7);  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

static void* load(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  use(__sanitizer_unaligned_load32(bytes + 5));  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(store, load); }
