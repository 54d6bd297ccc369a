// Structures of 16, 24 and 32 bytes that a few instructions copy and clear: all their bytes are
// accessed, but not the word after them.
#include <string.h>

#include "program.h"

struct pair {
  long words[2];
};
struct three {
  long words[3];
};
struct four {
  long words[4];
};

struct {
  struct pair pair;
  long after_pair;
  struct three three;
  long after_three;
  struct four four;
  long after_four;
} shared;
struct pair pair_copy;
struct three other_three;
long seen;

static void* copier(void* arg) {
  pair_copy = shared.pair;                      // RACE! pair
  shared.three = other_three;                   // RACE! three
  memset(&shared.four, 0, sizeof shared.four);  // RACE! four
  return NULL;
}

static void* user(void* arg) {
  if (SAFE) {
    shared.after_pair = 1;
    seen = shared.after_three;
    shared.after_four = 1;
  } else {
    shared.pair.words[1] = 1;      // RACE! pair
    seen = shared.three.words[2];  // RACE! three
    shared.four.words[3] = 1;      // RACE! four
  }
  return NULL;
}

int main(void) { run_two(copier, user); }
