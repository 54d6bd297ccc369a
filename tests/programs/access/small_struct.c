// A struct returned and copied by value: 12 bytes, more than one access. Kept in memory by a call,
// since gcc does not instrument what it stores straight from the registers of a result.
#include "program.h"

struct Colour {
  float red, green, blue;
};
struct Colour current;

__attribute__((noinline)) static struct Colour mix(float part) {
  return (struct Colour){part, 1 - part, 0.5f};
}

static void* painter(void* arg) {
  struct Colour mixed = mix(0.25f);
  keep(&mixed);
  current = mixed;  // RACE!
  tell(0);
  return NULL;
}

static void* viewer(void* arg) {
  await(0);
  struct Colour seen = {0};
  if (!SAFE) seen = current;  // RACE!
  keep(&seen);
  return NULL;
}

int main(void) { run_two(painter, viewer); }
