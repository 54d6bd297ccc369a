// inotify tells of a file that appears; reading the folder, and its status, show it as well.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

char folder[] = "/tmp/deadheat.watch.XXXXXX";
int watch, grown;
int watched, listed, sized;

static int lists(const char* name) {
  int found = 0;
  DIR* stream = opendir(".");
  for (struct dirent* entry = readdir(stream); entry != NULL; entry = readdir(stream))
    found |= strcmp(entry->d_name, name) == 0;
  closedir(stream);
  return found;
}

static void* maker(void* arg) {
  if (SAFE) watched = 1;
  close(open("first", O_CREAT | O_WRONLY, 0600));
  await(3);
  if (!SAFE) watched = 2;  // RACE! inotify
  tell(0);
  if (SAFE) listed = 1;
  if (symlink("first", "second") != 0) abort();
  if (!SAFE) listed = 2;  // RACE! readdir
  tell(1);
  if (SAFE) sized = 1;
  if (ftruncate(grown, 100) != 0) abort();
  if (!SAFE) sized = 2;  // RACE! size
  tell(2);
  return NULL;
}

static void* looker(void* arg) {
  char told[4096];
  struct stat status = {0};
  if (read(watch, told, sizeof told) <= 0) return NULL;
  tell(3);
  await(0);
  use(watched);  // RACE! inotify
  while (!lists("second")) sched_yield();
  await(1);
  use(listed);  // RACE! readdir
  while (status.st_size != 100) fstat(grown, &status);
  await(2);
  use(sized);  // RACE! size
  return NULL;
}

int main(void) {
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
  grown = open("grown", O_CREAT | O_RDWR, 0600);
  watch = inotify_init1(0);
  inotify_add_watch(watch, ".", IN_CREATE);
  run_two(maker, looker);
  unlink("first");
  unlink("second");
  unlink("grown");
  rmdir(folder);
}
