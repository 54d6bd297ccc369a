// Writers exclude; a reader outside the lock is not protected.
#include "program.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int table[4];

static void* writer(void* arg) {
  pthread_rwlock_wrlock(&lock);
  table[2] = 1;  // RACE!
  pthread_rwlock_unlock(&lock);
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  if (SAFE) pthread_rwlock_rdlock(&lock);
  use(table[2]);  // RACE!
  if (SAFE) pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) { run_two(writer, reader); }
