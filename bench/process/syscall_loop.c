// syscall_loop CALL COUNT: the processor time of one call, in nanoseconds, the best of five rounds
// of COUNT calls in a loop. lseek, open (and close), stat, read are recorded calls; getpid is not.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const char* call = words[1];
  const long times = atol(words[2]);
  const int file = open("/dev/zero", O_RDONLY);
  struct stat status;
  char byte;
  double best = 1e18;
  for (int round = 0; round < 5; round++) {
    const double begin = now_ns();
    for (long i = 0; i < times; i++) {
      if (strcmp(call, "lseek") == 0)
        syscall(SYS_lseek, file, 0, SEEK_SET);
      else if (strcmp(call, "read") == 0)
        syscall(SYS_read, file, &byte, 1);
      else if (strcmp(call, "stat") == 0)
        syscall(SYS_stat, "/dev/zero", &status);
      else if (strcmp(call, "open") == 0)
        close((int)syscall(SYS_open, "/dev/zero", O_RDONLY));
      else
        syscall(SYS_getpid);
    }
    const double each = (now_ns() - begin) / (double)times;
    if (each < best) best = each;
  }
  printf("%.2f\n", best);
  return 0;
}
