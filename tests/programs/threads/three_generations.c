// A grandchild is ordered after what its grandparent did before, and not after what it does later.
#include "program.h"

int before, later;

static void* grandchild(void* arg) {
  use(before);  // NORACE
  await(0);
  use(later);  // RACE!
  return NULL;
}

static void* child(void* arg) {
  pthread_t thread;
  pthread_create(&thread, NULL, grandchild, NULL);
  pthread_join(thread, NULL);
  return NULL;
}

int main(void) {
  pthread_t thread;
  before = 1;
  if (SAFE) later = 1;
  pthread_create(&thread, NULL, child, NULL);
  if (!SAFE) later = 2;  // RACE!
  tell(0);
  pthread_join(thread, NULL);
}
