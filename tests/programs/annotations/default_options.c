// What the program says about itself: __tsan_default_options. report_bugs is no matter of a trace.
// build: tools=deadheat,tsan both=racy
#include "program.h"

const char* __tsan_default_options(void) { return SAFE ? "report_bugs=0" : ""; }

int cell;

static void* first(void* arg) {
  cell = 1;  // RACE!
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  cell = 2;  // RACE!
  return NULL;
}

int main(void) { run_two(first, second); }
