/* Loads the library named by its argument, twice, and runs its racy work() in two threads; the
 * second time after the library was unloaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void* (*work)(void*);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (int round = 0; round < 2; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (library == 0) return 3;
    *(void**)&work = dlsym(library, "work");
    if (work == 0) return 4;
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    dlclose(library);
  }
  return 0;
}
