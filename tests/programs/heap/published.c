// A block made by one thread, filled, published under a lock, freed by the other.
#include <stdlib.h>

#include "program.h"

struct Node {
  int value;
  int late;
};
struct Node* head;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* producer(void* arg) {
  struct Node* node = malloc(sizeof *node);
  node->value = 1;           // NORACE
  if (SAFE) node->late = 2;  // NORACE
  pthread_mutex_lock(&lock);
  head = node;
  pthread_mutex_unlock(&lock);
  if (!SAFE) node->late = 3;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  pthread_mutex_lock(&lock);
  struct Node* node = head;
  pthread_mutex_unlock(&lock);
  use(node->value);  // NORACE
  use(node->late);   // RACE!
  if (SAFE) free(node);
  return NULL;
}

int main(void) { run_two(producer, consumer); }
