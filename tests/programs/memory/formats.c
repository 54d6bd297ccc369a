// printf reads the texts that it prints, no further than its precision; scanf writes its results.
#include <stdio.h>

#include "program.h"

char printed[16] = "text", bounded[16] = "12345678";
int scanned;
char word[8];

static void* first(void* arg) {
  char line[64];
  const char* const text = SAFE ? "own" : printed;
  snprintf(line, sizeof line, "%d %-*s|%.4s", 3, 6, text, bounded);  // RACE!
  use(line[0]);
  tell(0);
  await(1);
  int mine = 0;
  use(mine + (SAFE ? 0 : scanned));  // RACE!
  use(SAFE ? 0 : word[1]);           // RACE!
  return NULL;
}

static void* second(void* arg) {
  await(0);
  printed[1] = 'x';                                                  // RACE!
  bounded[4] = 'x';                                                  // NORACE
  if (sscanf("17 ab 4", "%d %7s %*d", &scanned, word) != 2) use(1);  // RACE!
  tell(1);
  return NULL;
}

int main(void) { run_two(first, second); }
