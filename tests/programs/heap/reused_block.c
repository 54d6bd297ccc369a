// A block freed by one thread and allocated by another starts a new life: its old accesses are no
// race.
#include <stdlib.h>

#include "program.h"

int shared;

static void* worker(void* arg) {
  for (int i = 0; i < 200; ++i) {
    int* block = malloc(40);
    for (int j = 0; j < 10; ++j) block[j] = i;  // NORACE
    keep(block);
    free(block);  // NORACE
  }
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

static void* handed_over;

static void* giver(void* arg) {
  int* block = malloc(72);
  for (int j = 0; j < 18; ++j) block[j] = j;  // NORACE
  handed_over = block;
  free(block);
  tell(0);
  return worker(arg);
}

static void* taker(void* arg) {
  await(0);
  for (int i = 0; i < 4; ++i) {
    int* block = malloc(72);
    for (int j = 0; j < 18; ++j) block[j] = j;  // NORACE
    keep(block);
    free(block);
  }
  return worker(arg);
}

int main(void) { run_two(giver, taker); }
