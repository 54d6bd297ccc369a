// A hand-made once: the flag is read without any order.
#include "program.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int done, table;

static void ensure(void) {
  if (SAFE || !done) {  // RACE! flag
    pthread_mutex_lock(&lock);
    if (!done) {  // NORACE
      table = 1;  // RACE! table
      done = 1;   // RACE! flag
    }
    pthread_mutex_unlock(&lock);
  }
}

static void* first(void* arg) {
  ensure();
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  ensure();
  use(table);  // RACE! table
  return NULL;
}

int main(void) { run_two(first, second); }
