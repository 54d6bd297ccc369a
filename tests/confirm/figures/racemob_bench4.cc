// bench4 of racemob.txt section 5.4 and Figure 7. A reconstruction from the prose: "the accesses to
// variables x, y, z from T0 and T1 are racing if the input is either in1, in2, or in3". The input
// is the argument; without one, or with another, there is no race, and a dynamic finder that has
// not seen an input cannot know of its race.
#include <cstdlib>
#include <thread>

// Visible to other files, so that it is not optimised away.
int x, y, z;

namespace {

int input;

// One function each: an optimiser would make one store of them, to an address that depends on the
// input and has no line.
[[gnu::noinline]] void t0_x() { x = 1; }  // RACE! x
[[gnu::noinline]] void t0_y() { y = 1; }  // RACE! y
[[gnu::noinline]] void t0_z() { z = 1; }  // RACE! z
[[gnu::noinline]] void t1_x() { x = 2; }  // RACE! x
[[gnu::noinline]] void t1_y() { y = 2; }  // RACE! y
[[gnu::noinline]] void t1_z() { z = 2; }  // RACE! z

void t0() {
  if (input == 1) t0_x();
  if (input == 2) t0_y();
  if (input == 3) t0_z();
}

void t1() {
  if (input == 1) t1_x();
  if (input == 2) t1_y();
  if (input == 3) t1_z();
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) input = std::atoi(words[1]);
  std::thread a(t0);
  std::thread b(t1);
  a.join();
  b.join();
}
