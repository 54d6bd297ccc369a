// Copies that the compiler makes: struct assignment and array initialisation.
#include "program.h"

struct Row {
  long cells[24];
};

struct Row live, backup;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* saver(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  backup = live;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  live.cells[20] = 1;  // RACE!
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run_two(saver, writer); }
