// dlopen of a plain library: its own accesses are not seen, ours beside it are.
// build: plain=modules/plain_part.c libs=-ldl
#include <dlfcn.h>

#include "program.h"

static int (*next)(void);
int shared;

static void* worker(void* arg) {
  use(next());  // NORACE the library's business
  await(0);
  if (!SAFE) shared += 1;  // RACE!
  tell(0);
  return NULL;
}

int main(void) {
  void* library = dlopen("libplain_part.so", RTLD_NOW);
  if (library == NULL) return 1;
  next = (int (*)(void))dlsym(library, "plain_next");
  tell(0);
  run_two(worker, worker);
}
