/* Loaded into what the sandbox starts (escape_test.py): inside, it marks the program that it runs
 * in. If that is the tool's own file, seen through /proc/self/exe, the machine's file changes. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

__attribute__((constructor)) static void mark(void) {
  struct utsname name;
  if (uname(&name) == 0 && strcmp(name.nodename, "deadheat") == 0) chmod("/proc/self/exe", 0777);
}
