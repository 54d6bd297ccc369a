// Calls an annotated program's main again and again for argv[1] seconds: a sampler needs more than
// one run of a few microseconds. PROGRAM is the source. The steps that put both sides of a race
// into one order in every run (invisible.h) are left out: what cannot meet cannot be met.
#include "invisible.h"
#define tell(step) ((void)0)
#define await(step) ((void)0)
#define main program_main
#include PROGRAM
#undef main
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char** words) {
  struct timespec now, end;
  long runs = 0;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += count > 1 ? atoi(words[1]) : 10;
  do {
    program_main();
    runs++;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  fprintf(stderr, "%ld runs\n", runs);
  return 0;
}
