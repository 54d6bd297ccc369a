// AnnotateHappensBefore and AnnotateHappensAfter.
// build: tools=deadheat,tsan
#include "annotations/annotations.h"
#include "program.h"

int data;
char token;

static void* producer(void* arg) {
  if (SAFE) data = 1;
  AnnotateHappensBefore(__FILE__, __LINE__, &token);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* consumer(void* arg) {
  await(0);
  AnnotateHappensAfter(__FILE__, __LINE__, &token);
  use(data);  // RACE!
  return NULL;
}

int main(void) { run_two(producer, consumer); }
