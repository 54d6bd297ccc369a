// What the creator wrote before pthread_create is ordered; what it writes after is not.
#include "program.h"

int argument;

static void* reader(void* arg) {
  await(0);
  use(argument);  // RACE!
  return NULL;
}

int main(void) {
  pthread_t thread;
  if (SAFE) argument = 1;  // NORACE creation orders it
  pthread_create(&thread, NULL, reader, NULL);
  if (!SAFE) argument = 2;  // RACE!
  tell(0);
  pthread_join(thread, NULL);
}
