// A thread that begins and waits for work inside a library; only the work is instrumented.
// build: plain=plain/hidden_thread.c needs=regions
#include <stdio.h>
#include <stdlib.h>

#include "plain/hidden_thread.h"
#include "program.h"

struct Item {
  int value;
};
int loose;

static void work(void* argument) {
  struct Item* item = argument;
  item->value += 1;  // NORACE handed over by the library
  tell(0);
  await(1);
  loose += 1;  // RACE!
}

int main(void) {
  struct HiddenThread* thread = hidden_start();
  struct Item* item = malloc(sizeof *item);
  item->value = 1;
  hidden_submit(thread, work, item);
  await(0);
  if (!SAFE) loose += 1;  // RACE!
  tell(1);
  hidden_finish(thread);
  item->value += 1;  // NORACE the library says that the work is done
  printf("%d\n", item->value);
}
