// Synchronisation that a handler does counts, also where that of the interrupted code is ignored.
// build: tools=deadheat,tsan
#include <signal.h>

#include "program.h"

void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);

int data, flag;

static void publish(void) { __atomic_store_n(&flag, 1, __ATOMIC_RELEASE); }

static void handler(int number) { publish(); }

static void* writer(void* arg) {
  data = 1;  // RACE!
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  if (SAFE) {
    raise(SIGUSR1);
  } else {
    publish();
  }
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  tell(0);
  return NULL;
}

static void* reader(void* arg) {
  await(0);
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) use(data);  // RACE!
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  run_two(writer, reader);
}
