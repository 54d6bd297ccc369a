// One thread stores, the other loads, in this order, which the detector does not see if RACY.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "part.h"
#include "tests/programs/invisible.h"

#ifdef LOADED
static void (*part_store)(struct Data*);
static long (*part_load)(struct Data*);
#else
void part_store(struct Data* data);
long part_load(struct Data* data);
#endif

static struct Data data;

static void* first(void* argument) {
  part_store(&data);
  tell(0);
  return argument;
}

static void* second(void* argument) {
  await(0);
  printf("%ld\n", part_load(&data));
  return argument;
}

int main(void) {
#ifdef LOADED
  void* const part = dlopen("./libpart.so", RTLD_NOW);
  if (part == NULL) return 3;
  part_store = (void (*)(struct Data*))dlsym(part, "part_store");
  part_load = (long (*)(struct Data*))dlsym(part, "part_load");
#endif
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  if (!RACY) pthread_join(threads[0], NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  if (RACY) pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
