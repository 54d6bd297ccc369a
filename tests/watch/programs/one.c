// One thread: nothing to collide with. Ends with the status that it is told, or by SIGSEGV.
#include <signal.h>
#include <stdlib.h>

int shared[64];

int main(int argc, char** argv) {
  for (int i = 0; i < 100000; i++) ((volatile int*)shared)[i % 64] += i;
  if (argc > 1 && argv[1][0] == 'k') raise(SIGSEGV);
  return argc > 1 ? atoi(argv[1]) : 0;
}
