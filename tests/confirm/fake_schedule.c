// Stands in for the schedule mode: reads the trial that it is given and writes what FAKE_MODE says
// a scheduler would have seen. The seed decides: odd seeds let the first access go first.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void __tsan_init(void) {}
void __tsan_write4(void* at) { (void)at; }
void __tsan_read4(void* at) { (void)at; }

static char raw[512], trial[512];
static unsigned long seed, sites;
static unsigned long place[2];
static char strategy[32], module[600];

static void say(const char* text) {
  const int fd = open(raw, O_WRONLY | O_APPEND);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) abort();
  close(fd);
}

static int option(const char* options, const char* key, char* out) {
  const char* at = strstr(options, key);
  char format[64];
  snprintf(format, sizeof format, "%s=%%511[^:]", key);
  return at != NULL && sscanf(at, format, out) == 1;
}

static void read_trial(void) {
  FILE* file = fopen(trial, "r");
  char line[2000], id[200];
  unsigned role;
  unsigned long offset;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    sscanf(line, "seed %lu", &seed);
    sscanf(line, "strategy %31s", strategy);
    if (sscanf(line, "site %u %lx %199s %599[^\n]", &role, &offset, id, module) == 4 && role < 2) {
      place[role] = offset;
      ++sites;
    }
  }
  if (file != NULL) fclose(file);
}

static void say_race(int first) {
  char text[4000];
  const int pid = getpid();
  snprintf(
      text, sizeof text,
      "{\"t\":\"module\",\"pid\":%d,\"id\":1,\"path\":\"%s\",\"build_id\":\"\",\"base\":0,"
      "\"begin\":0,"
      "\"end\":9,\"instrumented\":\"yes\"}\n"
      "{\"t\":\"race\",\"pid\":%d,\"n\":1,\"address\":64,\"size\":4,\"first\":%d,\"decision\":3,"
      "\"atomic\":false,\"accesses\":[{\"kind\":\"read\",\"size\":4,\"address\":64,\"thread\":2,"
      "\"stack\":[[1,%lu]],"
      "\"locks\":[]},{\"kind\":\"write\",\"size\":4,\"address\":64,\"thread\":1,\"stack\":[[1,%lu]]"
      ",\"locks\":[]}],"
      "\"location\":{\"kind\":\"stack\",\"thread\":0},\"threads\":[]}\n",
      pid, module, pid, first, place[1], place[0]);
  say(text);
}

__attribute__((constructor)) static void start(void) {
  const char *options = getenv("DEADHEAT_OPTIONS"), *mode = getenv("FAKE_MODE");
  if (options == NULL || mode == NULL || !option(options, "raw_path", raw)) return;
  char text[200];
  snprintf(
      text, sizeof text,
      "{\"t\":\"process\",\"v\":1,\"pid\":%d,\"ppid\":1,\"mode\":\"%s\",\"command\":[\"p\"]}\n",
      getpid(), option(options, "trial_path", trial) ? "schedule" : "detect");
  say(text);
  if (trial[0] == '\0') return;
  read_trial();
  if (strcmp(strategy, "serial") == 0 || sites == 0) return;
  const int first = (int)(seed % 2);
  if (strcmp(mode, "never") != 0) say_race(first);
  if (strcmp(mode, "crash") == 0 && first == 1) raise(SIGSEGV);
  if (strcmp(mode, "status") == 0 && first == 1) _exit(3);
  if (strcmp(mode, "output") == 0 && first == 1) puts("balance 90");
  if (strcmp(mode, "hang") == 0 && first == 1) {
    if (fork() == 0) setsid();  // leaves the group, and must be ended all the same
    for (;;) pause();
  }
  if (strcmp(mode, "deadlock") == 0 && first == 1) {
    snprintf(text, sizeof text,
             "{\"t\":\"deadlock\",\"pid\":%d,\"decision\":4,\"threads\":[{\"number\":1,\"waits\":"
             "\"lock\",\"owner\":2,"
             "\"stack\":[]}]}\n",
             getpid());
    say(text);
    _exit(75);
  }
  if (strcmp(mode, "stuck") == 0 && first == 1) {
    snprintf(text, sizeof text,
             "{\"t\":\"hang\",\"pid\":%d,\"decision\":4,\"threads\":[{\"number\":1,\"waits\":"
             "\"lock\",\"owner\":2,"
             "\"stack\":[]}]}\n",
             getpid());
    say(text);
    _exit(75);
  }
}
