// The library keeps the two calls apart: no race, but who does not see how may take it for one.
void pool_run_twice(void (*function)(void));

int counter;

static void add(void) { ++counter; }

int main(void) {
  pool_run_twice(add);
  return counter != 2;
}
