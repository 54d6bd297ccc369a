// strcpy, strcat, strlen and strdup against plain writes.
// build: flags=-fno-builtin
#include <stdlib.h>
#include <string.h>

#include "program.h"

char name[32], path[32] = "/tmp/", word[32] = "word", seed[32] = "seed";

static void* first(void* arg) {
  strcpy(name, "deadheat");  // RACE! name
  strcat(path, "file");      // RACE! path
  use(strlen(word));         // RACE! word
  free(strdup(seed));        // RACE! seed
  tell(0);
  return NULL;
}

static void* second(void* arg) {
  await(0);
  name[20] = path[20] = word[20] = seed[20] = 1;  // NORACE behind the end
  if (SAFE) return NULL;
  use(name[8]);   // RACE! name
  path[6] = 'x';  // RACE! path
  word[4] = 'x';  // RACE! word
  seed[1] = 'x';  // RACE! seed
  return NULL;
}

int main(void) { run_two(first, second); }
