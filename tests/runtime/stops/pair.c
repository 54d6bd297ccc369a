// Main and a thread, one access each to one cell, from a trap on that the test waits at: it decides
// who runs when, and nothing in the program orders them before main joins the thread. argv: what
// each does, r or w, and to which of the cell's two halves (or 8: the whole).
//
// With LOOKED it passes for a program with inlined checks, whose hooks go to the slow path at once.
#include <pthread.h>
#include <stdlib.h>

#ifdef LOOKED
#include "abi/checks.h"
extern __thread struct deadheat_check_words DEADHEAT_CHECK_WORDS;
struct deadheat_check_words* volatile words;
#endif

union Cell {
  long whole;
  int half[2];
};
union Cell cell;
__thread volatile long sink;

static void work(const char* what) {
  const int write = what[0] == 'w';
  const int part = atoi(what + 1);
  __asm__ volatile("int3");
  if (part == 8) {
    if (write) {
      cell.whole = 1;
    } else {
      sink = cell.whole;
    }
  } else if (write) {
    cell.half[part] = 1;
  } else {
    sink = cell.half[part];
  }
}

static void* run(void* what) {
  work(what);
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
#ifdef LOOKED
  words = &DEADHEAT_CHECK_WORDS;
#endif
  cell.whole = 1;  // what a first access to its memory needs is there
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, arguments[2]) != 0) return 1;
  work(arguments[1]);
  __asm__ volatile("int3");
  pthread_join(thread, NULL);
  return 0;
}
