// Calls an annotated program's main (renamed to program_main) again and again for argv[1] seconds:
// a sampler needs more than one run of a few microseconds. Before each run the program's variables
// are as they were before the first: a flag that stays set would order the second run, or race in
// it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern int program_main(int, char**);
extern char __data_start[], _end[];  // the linker's: all variables of the program

static void* nothing(void* argument) { return argument; }

int main(int count, char** words) {
  struct timespec now, end;
  long runs = 0;
  // The C library's __libc_single_threaded is copied to here: it must be over before the first run.
  pthread_t thread;
  pthread_create(&thread, NULL, nothing, NULL);
  pthread_join(thread, NULL);
  const size_t size = (size_t)(_end - __data_start);
  char* const fresh = malloc(size);
  memcpy(fresh, __data_start, size);
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += count > 1 ? atoi(words[1]) : 10;
  do {
    memcpy(__data_start, fresh, size);
    program_main(1, words);
    runs++;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  fprintf(stderr, "%ld runs\n", runs);
  _exit(0);  // what was registered to run at the end belongs to variables that were set back
}
