// Accesses inside AnnotateIgnore... are not looked at.
// build: tools=deadheat,tsan
#include "annotations/annotations.h"
#include "program.h"

int statistics, shared;

static void* worker(void* arg) {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  statistics += 1;        // NORACE by annotation
  if (SAFE) shared += 1;  // NORACE by annotation
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  if (!SAFE) shared += 1;  // RACE!
  return NULL;
}

int main(void) { run_two(worker, worker); }
