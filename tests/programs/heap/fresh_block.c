// A fresh block, and fresh pages, handed over without order: their user races with the allocation.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "program.h"

int *block, *pages;

static void* producer(void* arg) {
  const int order = SAFE ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
  int* made = malloc(sizeof *made);  // RACE! block
  int* mapped =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // RACE! pages
  __atomic_store_n(&block, made, order);
  __atomic_store_n(&pages, mapped, order);
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  const int order = SAFE ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
  await(0);
  *__atomic_load_n(&block, order) = 1;  // RACE! block
  *__atomic_load_n(&pages, order) = 2;  // RACE! pages
  return NULL;
}

int main(void) { run_two(producer, consumer); }
