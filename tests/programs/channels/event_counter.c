// eventfd_write and eventfd_read.
#include <sys/eventfd.h>

#include "program.h"

int event, data;

static void* sender(void* arg) {
  if (SAFE) data = 1;
  eventfd_write(event, 1);
  if (!SAFE) data = 2;  // RACE!
  tell(0);
  return NULL;
}

static void* receiver(void* arg) {
  eventfd_t count;
  eventfd_read(event, &count);
  await(0);
  use(data);  // RACE!
  return NULL;
}

int main(void) {
  event = eventfd(0, 0);
  run_two(sender, receiver);
}
