// Closed and opened again between two threads: the library's globals are new memory.
// build: instrumented=modules/part.c libs=-ldl
#include <dlfcn.h>
#include <unistd.h>

#include "program.h"

int shared;

static void visit(void) {
  void* library = dlopen("libpart.so", RTLD_NOW);
  if (library == NULL) return;
  void (*touch)(void) = (void (*)(void))dlsym(library, "part_touch");
  touch();  // NORACE one at a time, each with its own copy
  dlclose(library);
  if (dlopen("libpart.so", RTLD_NOW | RTLD_NOLOAD) != NULL) _exit(3);  // still there
}

static void* first(void* arg) {
  visit();
  if (!SAFE) shared = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  visit();
  if (!SAFE) shared = 2;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
