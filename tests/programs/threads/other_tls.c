// A thread-local variable reached by pointer from another thread.
#include "program.h"

__thread int mine;
int* published;

static void* owner(void* arg) {
  mine = 1;  // NORACE before the publication that creation of the other thread follows
  published = &mine;
  pthread_t peer;
  pthread_create(&peer, NULL, (void* (*)(void*))arg, NULL);
  await(0);
  if (SAFE) pthread_join(peer, NULL);
  mine = 2;  // RACE!
  if (!SAFE) pthread_join(peer, NULL);
  return NULL;
}

static void* guest(void* arg) {
  *published = 3;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, owner, (void*)guest);
  pthread_join(thread, NULL);
}
