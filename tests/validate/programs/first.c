/* A race between two threads whose routine is the first function of the program: what lies before
 * it is the compiler's and not instrumented. */
int counter; /* not static: what nobody reads must stay */

void* run(void* unused) {
  counter = counter + 1;
  return unused;
}

#include <pthread.h>

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, run, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
