// AnnotateBenignRaceSized excuses a range of memory, and only that.
// The trace format has no word for it, so analyze reports the range.
// build: tools=deadheat,tsan both=no
#include "annotations/annotations.h"
#include "program.h"

long excused[2], counted;

static void* worker(void* arg) {
  excused[0] += 1;          // NORACE by annotation
  excused[1] += 1;          // NORACE by annotation
  if (!SAFE) counted += 1;  // RACE!
  return NULL;
}

int main(void) {
  AnnotateBenignRaceSized(__FILE__, __LINE__, excused, sizeof excused, "statistics");
  run_two(worker, worker);
}
