// The library orders the two calls: no race, but without seeing how, it may look like one.
void pool_run_twice(void (*function)(void));

int counter;

static void add(void) { ++counter; }

int main(void) {
  pool_run_twice(add);
  return counter != 2;
}
