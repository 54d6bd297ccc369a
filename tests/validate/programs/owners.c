/* Each thread reads only its own cells of an array; a vectorised loop would load those of both.
 * With an argument the second thread reads the first one's. */
#include <pthread.h>

enum { kCells = 4096 };
static int owner[kCells], cells[kCells];
volatile long sums[2];
static int racy;

__attribute__((noinline)) static int sum_of(int me) {
  int sum = 0;
  for (int i = 0; i < kCells; ++i)
    if (owner[i] == me) {
      sum += cells[i];
    }
  return sum;
}
__attribute__((noinline)) static void write_own(int me, int turn) {
  for (int i = me; i < kCells; i += 2) cells[i] = turn + i;
}

static void* work(void* number) {
  const int me = number != 0;
  for (int turn = 0; turn < 300; ++turn) {
    write_own(me, turn);
    sums[me] += sum_of(racy ? 0 : me);
  }
  return 0;
}

int main(int argc, char** argv) {
  (void)argv;
  racy = argc > 1;
  for (int i = 0; i < kCells; ++i) owner[i] = i % 2;
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, &a);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
