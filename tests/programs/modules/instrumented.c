// dlopen of an instrumented library: its globals and code are watched.
// build: instrumented=modules/part.c libs=-ldl
#include <dlfcn.h>

#include "program.h"

static void (*touch)(void);
static int* cell;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* through_library(void* arg) {
  if (SAFE) pthread_mutex_lock(&lock);
  touch();
  if (SAFE) pthread_mutex_unlock(&lock);
  tell(0);
  return NULL;
}

static void* from_program(void* arg) {
  await(0);
  if (SAFE) pthread_mutex_lock(&lock);
  *cell = 2;  // RACE! part
  if (SAFE) pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  void* library = dlopen("libpart.so", RTLD_NOW);
  if (library == NULL) return 1;
  touch = (void (*)(void))dlsym(library, "part_touch");
  cell = dlsym(library, "part_cell");
  run_two(through_library, from_program);
  dlclose(library);
}
