// A read-write lock made known by AnnotateRWLock*.
// build: tools=deadheat,tsan
#include "annotations/annotations.h"
#include "program.h"

char lock;
int shared;

static void* reader(void* arg) {
  AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
  use(shared);  // RACE!
  AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0);
  tell(0);
  return NULL;
}

static void* writer(void* arg) {
  await(0);
  // A writer that only says it reads.
  AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, SAFE);
  shared = 1;  // RACE!
  AnnotateRWLockReleased(__FILE__, __LINE__, &lock, SAFE);
  return NULL;
}

int main(void) {
  AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
  run_two(reader, writer);
  AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
}
