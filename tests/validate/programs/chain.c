/* Sites that reach their bytes through what other sites load: each is checked at the address that
 * the program uses. With -DSAFE a lock is around it. */
#include <pthread.h>

struct Node {
  struct Node* next;
  struct Node* other;
  int value, rest[29];
};

struct Node nodes[3];
struct Node* head; /* not static: it must not be optimised away */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

#ifdef SAFE
#define ENTER pthread_mutex_lock(&lock)
#define LEAVE pthread_mutex_unlock(&lock)
#else
#define ENTER (void)lock
#define LEAVE (void)lock
#endif

static __attribute__((noinline)) void walk(int value) {
  /* Four reads, of which only the last is of bytes that change, and a write. */
  head->next->other->value += value;
}

static void* run(void* unused) {
  for (int i = 0; i < 20; ++i) {
    pthread_barrier_wait(&together);
    ENTER;
    walk(i);
    LEAVE;
  }
  return unused;
}

int main(void) {
  head = &nodes[0];
  for (int i = 0; i < 3; ++i) {
    nodes[i].next = &nodes[1];
    nodes[i].other = &nodes[2];
  }
  pthread_barrier_init(&together, 0, 2);
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, run, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
