/* Three races, each with an input of its own: bench4 1, bench4 2, bench4 3; another input has none.
 * With -DSAFE a lock is around each. */
#include <pthread.h>
#include <stdlib.h>

int x, y, z; /* not static: it must not be optimised away */
static int input;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

#ifdef SAFE
#define ENTER pthread_mutex_lock(&lock)
#define LEAVE pthread_mutex_unlock(&lock)
#else
#define ENTER (void)lock
#define LEAVE (void)lock
#endif

/* Functions of their own: the compiler would make one access of the three. */
static __attribute__((noinline)) void one(void) { x += 1; }
static __attribute__((noinline)) void two(void) { y += 2; }
static __attribute__((noinline)) void three(void) { z += 3; }

static void* run(void* unused) {
  pthread_barrier_wait(&together);
  ENTER;
  switch (input) {
    case 1:
      one();
      break;
    case 2:
      two();
      break;
    case 3:
      three();
      break;
    default:
      break;
  }
  LEAVE;
  return unused;
}

int main(int argc, char** argv) {
  input = argc > 1 ? atoi(argv[1]) : 0;
  pthread_barrier_init(&together, 0, 2);
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, run, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
