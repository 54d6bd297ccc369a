// The library of instrumented.c and loaded_again.c.
int part_cell;

void part_touch(void) {
  part_cell += 1;  // RACE! part
}
